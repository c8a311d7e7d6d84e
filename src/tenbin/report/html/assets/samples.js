// The document browser: a virtual list beside the open document.

import { announce, copyButton, fill, foreign, make, say } from "./elements.js";
import { readOnce } from "./blocks.js";
import { MARKS, RUNS, STATES, cellById, indexOf, placeOf, runName, sampleAt, statesOf } from "./cells.js";
import { Rows } from "./rows.js";
import { promptView } from "./prompt.js";
import { generatedView, outcomesView } from "./answer.js";
import { choicesView, pickedView } from "./choices.js";
import { samplesLink } from "./overview.js";

const ROW = 58;
/** The reader's display settings, kept across views. */
const reading = { reveal: false, unfold: false };

export class SamplesView {
  constructor(query, go) {
    this.go = go;
    this.query = new URLSearchParams(query);
    this.cells = new Uint16Array(0);
    this.positions = new Uint32Array(0);
    this.length = 0;
    this.turn = 0;
    this.rows = new Rows(say("documents"), ROW, (at) => this.drawRow(at), (at) => this.open(at));
    this.counts = make("p", { class: "note", role: "status" });
    this.detail = make("article", { class: "sample", "aria-label": say("sample"), tabindex: "-1" });
    this.controls = make("div", { class: "controls" });
    this.element = make("div", { class: "samples" }, make("section", { class: "list", "aria-label": say("documents") }, this.controls, this.counts, this.rows.element), this.detail);
    this.drawControls();
    this.list();
  }

  get run() {
    return Math.min(RUNS.length, Math.max(1, Number(this.query.get("run")) || 1)) - 1;
  }

  get chosenCells() {
    const task = this.query.get("task");
    const language = this.query.get("language");
    return RUNS[this.run].cells.map((cell, at) => [cell, at]).filter(([cell]) => cell.samples && (!task || cell.id === task) && (!language || cell.language === language)).map(([, at]) => at);
  }

  drawControls() {
    const run = RUNS[this.run];
    const select = (name, label, options) => {
      const field = make("select", { "aria-label": label, id: `by-${name}` }, options.map(([value, text]) => make("option", { value, selected: (this.query.get(name) ?? "") === value }, text)));
      field.addEventListener("change", () => this.change({ [name]: field.value, doc: null, ...(name === "run" ? { task: null } : {}) }));
      return field;
    };
    const languages = [...new Set(run.cells.map((cell) => cell.language).filter(Boolean))].sort();
    const metrics = [...new Set(this.chosenCells.flatMap((at) => run.cells[at].metrics.map((metric) => metric.name)))];
    const states = [["", say("all_states")], ...["right", "wrong", "partly", "failed"].map((name) => [name, say(`state_${name}`)])];
    if (RUNS.length > 1) states.push(["changed", say("state_changed", { run: this.run === 0 ? 2 : 1 })]);
    const search = make("input", { type: "search", placeholder: say("search_text"), "aria-label": say("search_text"), id: "text-search", value: this.query.get("text") });
    let waiting = 0;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.change({ text: search.value, doc: null }, false), 250);
    });
    fill(
      this.controls,
      RUNS.length > 1 ? select("run", say("run"), RUNS.map((_, at) => [String(at + 1), `${at + 1} ${runName(at)}`])) : null,
      select("task", say("task"), [["", say("all_tasks")], ...run.cells.filter((cell) => cell.samples).map((cell) => [cell.id, cell.id])]),
      languages.length > 1 && !this.query.get("task") ? select("language", say("language"), [["", say("all_languages")], ...languages.map((one) => [one, one])]) : null,
      select("state", say("state"), states),
      metrics.length > 1 ? select("metric", say("metric"), [["", say("by_first_metric")], ...metrics.map((one) => [one, one])]) : null,
      search,
    );
  }

  /** Change the query in the address and update the view. */
  change(values, redraw = true) {
    for (const [name, value] of Object.entries(values)) {
      if (value) this.query.set(name, value);
      else this.query.delete(name);
    }
    this.go(`#/samples?${this.query}`, false);
    if (redraw) this.drawControls();
    this.list();
  }

  /** Find the documents that match the controls. */
  async list() {
    const turn = ++this.turn;
    const run = this.run;
    const chosen = this.chosenCells;
    const state = this.query.get("state");
    const metric = this.query.get("metric");
    const words = (this.query.get("text") || "").toLowerCase();
    const loaded = new Map(await Promise.all(chosen.map(async (at) => [at, await indexOf(run, at)])));
    if (turn !== this.turn) return;
    this.indexes = loaded;
    const size = chosen.reduce((sum, at) => sum + loaded.get(at).document.length, 0);
    this.cells = new Uint16Array(size);
    this.positions = new Uint32Array(size);
    this.length = 0;
    const before = state === "changed" ? await this.otherStates(chosen, metric) : null;
    if (turn !== this.turn) return;
    const wanted = Object.keys(STATES).find((one) => STATES[one] === state);
    const passes = (cell, position, letters) => {
      if (!state) return true;
      if (state !== "changed") return letters[position] === wanted;
      const old = before.get(cell)?.get(loaded.get(cell).document[position]);
      return old !== undefined && old !== letters[position];
    };
    for (const cell of chosen) {
      const letters = statesOf(loaded.get(cell), metric);
      for (let position = 0; position < loaded.get(cell).document.length; position += 1) {
        if (!passes(cell, position, letters)) continue;
        this.cells[this.length] = cell;
        this.positions[this.length] = position;
        this.length += 1;
      }
    }
    if (words) await this.search(words, turn);
    if (turn !== this.turn) return;
    this.rows.current = -1;
    this.rows.reset(this.length);
    this.tell(say("documents_shown", { n: this.length.toLocaleString("en"), all: size.toLocaleString("en") }));
    this.openFromAddress();
  }

  tell(text) {
    this.counts.textContent = text;
  }

  /** Keep the documents whose texts contain the words, in one pass over the blocks. */
  async search(words, turn) {
    const run = RUNS[this.run];
    let kept = 0;
    let from = 0;
    const total = this.length;
    while (from < total) {
      const cell = this.cells[from];
      let start = 0;
      for (const [block, size] of run.cells[cell].samples.blocks) {
        const end = start + size;
        if (from < total && this.cells[from] === cell && this.positions[from] < end) {
          const samples = await readOnce(block);
          if (turn !== this.turn) return;
          while (from < total && this.cells[from] === cell && this.positions[from] < end) {
            const position = this.positions[from];
            if (holds(samples[position - start], words)) {
              this.cells[kept] = cell;
              this.positions[kept] = position;
              kept += 1;
            }
            from += 1;
          }
          this.tell(say("searching", { done: from.toLocaleString("en"), all: total.toLocaleString("en"), n: kept.toLocaleString("en") }));
        }
        start = end;
      }
    }
    this.length = kept;
  }

  /** State letters of the same cells in the other run, by document. */
  async otherStates(chosen, metric) {
    const other = this.run === 0 ? 1 : 0;
    const found = new Map();
    for (const cell of chosen) {
      const there = cellById(other, RUNS[this.run].cells[cell].id);
      if (there < 0) continue;
      const index = await indexOf(other, there);
      const letters = statesOf(index, metric);
      found.set(cell, new Map(index.document.map((id, at) => [id, letters[at]])));
    }
    return found;
  }

  drawRow(at) {
    const cell = this.cells[at];
    const index = this.indexes.get(cell);
    const position = this.positions[at];
    const about = RUNS[this.run].cells[cell];
    const state = statesOf(index, this.query.get("metric"))[position] ?? "n";
    const answer = index.answer?.[position];
    return make(
      "div",
      { class: "row" },
      make("span", { class: `state state-${state}`, title: say(`state_${STATES[state]}`) }, MARKS[state], make("span", { class: "off-screen" }, say(`state_${STATES[state]}`))),
      make(
        "span",
        { class: "row-text" },
        make("span", { class: "row-id" }, foreign(index.document[position], null, "span", { class: "mono" }), this.query.get("task") ? null : make("span", { class: "row-task" }, foreign(about.id)), about.language && !this.query.get("language") ? make("span", { class: "row-language" }, about.language) : null),
        foreign(index.question?.[position] ?? "", about.language, "span", { class: "row-question" }),
        make("span", { class: "row-answer" }, state === "f" ? make("span", { class: "none" }, say("state_failed")) : answer === null || answer === undefined ? make("span", { class: "none" }, say("nothing_read")) : foreign(answer, about.language), state === "r" || about.kind === "roll" ? null : [make("span", { class: "arrow", "aria-label": say("gold") }, " → "), foreign(index.target?.[position] ?? "", about.language)]),
      ),
    );
  }

  /** Open the document that the address names, or the first. */
  openFromAddress() {
    const wanted = this.query.get("doc");
    if (wanted === null) {
      fill(this.detail, make("p", { class: "nothing" }, say(this.length ? "choose_document" : "nothing")));
      if (this.length && matchMedia("(min-width: 62rem)").matches) this.open(0, false);
      return;
    }
    for (let at = 0; at < this.length; at += 1) {
      if (this.indexes.get(this.cells[at]).document[this.positions[at]] === wanted) {
        this.rows.mark(at);
        this.open(at, false);
        return;
      }
    }
    fill(this.detail, make("p", { class: "nothing" }, say("no_such_document"), " ", foreign(wanted)));
  }

  async open(at, address = true) {
    const cell = this.cells[at];
    const position = this.positions[at];
    const run = this.run;
    this.rows.mark(at);
    const index = this.indexes.get(cell);
    if (address) {
      const values = { task: this.query.get("task") || RUNS[run].cells[cell].id, doc: index.document[position] };
      for (const [name, value] of Object.entries(values)) if (name === "doc" || this.query.get("task")) this.query.set(name, value);
      this.go(`#/samples?${this.query}`, false);
      this.element.classList.add("opened");
    }
    const sample = await sampleAt(run, cell, position);
    if (this.rows.current !== at) return;
    this.opened = { run, cell, position, sample, at };
    this.drawSample();
    if (address && !matchMedia("(min-width: 62rem)").matches) this.detail.focus();
    announce(say("opened_document", { id: index.document[position] }));
  }

  drawSample() {
    const { run, cell, position, sample, at } = this.opened;
    const about = RUNS[run].cells[cell];
    const index = this.indexes.get(cell);
    const states = Object.fromEntries(Object.entries(index.states).map(([name, letters]) => [name, letters[position]]));
    const toggle = (name, label, key) => make("button", { type: "button", class: "quiet", "aria-pressed": String(reading[name]), "aria-keyshortcuts": key, onclick: () => this.toggle(name) }, label);
    const link = `${location.href.split("#")[0]}${samplesLink(run, about.id, { doc: sample.document })}`;
    const notes = [
      sample.dropped ? say("dropped_note", { n: sample.dropped }) : null,
      sample.rotation ? say("rotated_note", { n: sample.rotation }) : null,
      sample.truncated ? say("truncated_note", { n: sample.truncated }) : null,
    ].filter(Boolean);
    fill(
      this.detail,
      make(
        "header",
        {},
        make("button", { type: "button", class: "quiet back", onclick: () => this.element.classList.remove("opened") }, say("back_to_list")),
        make("h2", {}, foreign(sample.document, null, "span", { class: "mono" }), " ", make("span", { class: "of" }, foreign(about.id))),
        make(
          "p",
          { class: "tools" },
          make("button", { type: "button", class: "quiet", "aria-keyshortcuts": "k", disabled: at === 0, onclick: () => this.rows.choose(at - 1) }, say("previous")),
          make("button", { type: "button", class: "quiet", "aria-keyshortcuts": "j", disabled: at === this.length - 1, onclick: () => this.rows.choose(at + 1) }, say("next")),
          toggle("reveal", say("reveal"), "x"),
          (sample.parts || []).length > 1 ? toggle("unfold", say("unfold"), "f") : null,
          copyButton(say("copy_prompt"), () => sample.parts.map(([, text]) => text).join("")),
          copyButton(say("copy_link"), () => link),
        ),
      ),
      sample.failure ? make("p", { class: "failure", role: "note" }, say("state_failed"), ": ", foreign(`${sample.failure[0]}: ${sample.failure[1]}`)) : null,
      notes.map((note) => make("p", { class: "caution" }, note)),
      make("h3", {}, say("prompt")),
      promptView(sample, about.language, reading.reveal, reading.unfold, (open) => (reading.unfold = open)),
      this.answerPart(sample, about),
      make("h3", {}, say("evaluation")),
      outcomesView(sample, states),
      make("dl", { class: "facts small" }, this.factPairs(sample).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
      this.elsewhere(run, cell, sample),
    );
  }

  answerPart(sample, about) {
    if (sample.picked_by && sample.choices) return [make("h3", {}, say("choices")), pickedView(sample, about.language, reading.reveal)];
    if (sample.logprobs && sample.choices) return [make("h3", {}, say("choices")), choicesView(sample, about.language, reading.reveal)];
    if (sample.generated !== undefined) return [make("h3", {}, say("generated")), generatedView(sample, about.language, reading.reveal)];
    if (sample.logprobs) return [make("h3", {}, say("log_likelihood")), make("p", {}, say("raw_logprob", { value: Number(sample.logprobs[0]).toFixed(3), tokens: sample.tokens?.[0] ?? "–" }))];
    if (sample.choices) return [make("h3", {}, say("choices")), make("ol", { class: "scored" }, sample.choices.map((one) => make("li", {}, foreign(one, about.language))))];
    return null;
  }

  factPairs(sample) {
    const quoted = (values) => values.map((one, at) => [at ? ", " : "", foreign(JSON.stringify(one))]).flat();
    return [
      sample.logprobs && !sample.choices ? null : [say("gold"), sample.references?.length ? quoted(sample.references) : foreign(sample.target ?? "–")],
      sample.examples?.length ? [say("example_ids"), foreign(sample.examples.join(", "), null, "span", { class: "mono" })] : null,
      sample.stop?.length ? [say("stop_strings"), quoted(sample.stop)] : null,
      sample.group ? [say("belongs_to"), foreign(sample.group, null, "span", { class: "mono" })] : null,
    ].filter(Boolean);
  }

  /** The same document under other templates and in other runs, the same item in other languages. */
  elsewhere(run, cell, sample) {
    const about = RUNS[run].cells[cell];
    const place = make("section", { class: "elsewhere" });
    const found = [];
    RUNS.forEach((other, r) =>
      other.cells.forEach((one, c) => {
        if ((r === run && c === cell) || !one.samples || found.length > 80) return;
        if (one.task === about.task) found.push([r, c, "document", sample.document]);
        else if (sample.item && one.family === about.family) found.push([r, c, "item", sample.item]);
      }),
    );
    if (!found.length) return null;
    (async () => {
      const links = [];
      for (const [r, c, column, value] of found) {
        const index = await indexOf(r, c);
        const at = placeOf(index, column, value);
        if (at === undefined) continue;
        const letter = statesOf(index, this.query.get("metric"))[at];
        const name = `${RUNS.length > 1 ? `${r + 1} · ` : ""}${RUNS[r].cells[c].id}`;
        links.push(make("li", {}, make("a", { href: samplesLink(r, RUNS[r].cells[c].id, { doc: index.document[at] }) }, make("span", { class: `state state-${letter}` }, MARKS[letter]), " ", foreign(name), make("span", { class: "off-screen" }, ` ${say(`state_${STATES[letter]}`)}`))));
      }
      if (links.length) fill(place, make("h3", {}, say("elsewhere")), make("ul", {}, links));
    })();
    return place;
  }

  toggle(name) {
    reading[name] = !reading[name];
    this.drawSample();
  }

  /** Keyboard shortcuts of the view; the list handles its own. */
  key(event) {
    const moves = { j: 1, k: -1 };
    if (event.key in moves) this.rows.choose(this.rows.current + moves[event.key]);
    else if (event.key === "x" && this.opened) this.toggle("reveal");
    else if (event.key === "f" && this.opened) this.toggle("unfold");
    else if (event.key === "/") document.getElementById("text-search")?.focus();
    else if (event.key === "Escape") this.element.classList.remove("opened");
    else return;
    event.preventDefault();
  }
}

function holds(sample, words) {
  const texts = [sample.document, ...(sample.parts || []).map(([, text]) => text), sample.thinking, sample.generated, sample.target, ...(sample.choices || []), ...(sample.outcomes || []).map((one) => one.answer)];
  return texts.some((text) => typeof text === "string" && text.toLowerCase().includes(words));
}
