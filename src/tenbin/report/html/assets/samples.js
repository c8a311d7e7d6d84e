// The document browser: a virtual list beside the open document, in one run or in all side by side.

import { announce, fill, foreign, make, say } from "./elements.js";
import { MARKS, RUNS, STATES, runName, runNamed, sampleAt } from "./cells.js";
import { DocumentList } from "./document_list.js";
import { PAIR_FILTERS, isNamed, stateTest, tasksOf } from "./documents.js";
import { sampleControls } from "./sample_controls.js";
import { documentParts } from "./one_document.js";
import { sideBySide } from "./side_by_side.js";
import { runColour } from "./whisker.js";
import { Rows } from "./rows.js";

const ROW = 58;
/** The reader's display settings, kept across views. */
const reading = { reveal: false, unfold: false };
const wide = () => matchMedia("(min-width: 62rem)").matches;

export class SamplesView {
  constructor(query, go) {
    this.go = go;
    this.query = new URLSearchParams(query);
    this.readPair();
    this.found = new DocumentList();
    this.turn = 0;
    this.rows = new Rows(say("documents"), ROW, (at) => this.drawRow(at), (at) => this.open(at));
    this.counts = make("p", { class: "note", role: "status" });
    this.detail = make("article", { class: "sample", "aria-label": say("sample"), tabindex: "-1" });
    this.controls = make("div", { class: "controls" });
    this.element = make("div", { class: "samples" }, make("section", { class: "list", "aria-label": say("documents") }, this.controls, this.counts, this.rows.element), this.detail);
    this.drawControls();
    this.list();
  }

  /** The two runs of the filters for pairs; addresses of earlier versions name one of them. */
  readPair() {
    const given = this.query.get("run");
    if (RUNS.length > 1 && given && !this.query.has("b") && PAIR_FILTERS.includes(this.query.get("state"))) {
      const run = Math.max(0, runNamed(given));
      this.query.set("a", runName(run === 0 ? 1 : 0));
      this.query.set("b", runName(run));
      this.query.delete("run");
    }
  }

  /** The run that is shown alone; null for all side by side. */
  get run() {
    if (RUNS.length === 1) return 0;
    const run = runNamed(this.query.get("run") ?? "");
    return run < 0 ? null : run;
  }

  get pair() {
    const a = Math.max(0, runNamed(this.query.get("a") ?? ""));
    const b = runNamed(this.query.get("b") ?? "");
    return [a, b < 0 || b === a ? (a === 0 ? 1 : 0) : b];
  }

  get tasks() {
    return tasksOf(this.run);
  }

  get chosenTasks() {
    const task = this.query.get("task");
    const language = this.query.get("language");
    return this.tasks.filter((one) => (!task || isNamed(one, task)) && (!language || one.language === language));
  }

  drawControls() {
    fill(this.controls, ...sampleControls(this));
  }

  /** Change the query in the address and update the view. */
  change(values, redraw = true) {
    for (const [name, value] of Object.entries(values)) {
      if (value) this.query.set(name, value);
      else this.query.delete(name);
    }
    this.go(`#/samples?${this.query}`, false);
    if (redraw) {
      const focused = document.activeElement?.id;
      this.drawControls();
      if (focused) document.getElementById(focused)?.focus();
    }
    this.list();
  }

  /** Find the documents that match the controls. */
  async list() {
    const turn = ++this.turn;
    const state = this.query.get("state");
    const letter = Object.keys(STATES).find((one) => STATES[one] === state);
    const words = (this.query.get("text") || "").toLowerCase();
    const test = stateTest(state, letter, this.query.get("metric"), ...this.pair);
    const found = await DocumentList.of(this.chosenTasks, test);
    if (turn !== this.turn) return;
    if (words && !(await this.search(found, words, turn))) return;
    this.found = found;
    this.rows.current = -1;
    this.rows.reset(found.length);
    this.tell("documents_shown", { n: found.length, all: found.all });
    this.openFromAddress();
  }

  search(found, words, turn) {
    const all = found.length;
    const tell = (done, n) => turn === this.turn && this.tell("searching", { done, all, n });
    return found.search(words, tell, () => turn === this.turn);
  }

  tell(key, numbers) {
    this.counts.textContent = say(key, Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, value.toLocaleString("en")])));
  }

  drawRow(at) {
    const [documents, number] = this.found.at(at);
    const { task } = documents;
    const metric = this.query.get("metric");
    const letters = task.places.map((_, place) => documents.stateAt(place, number, metric));
    return make(
      "div",
      { class: RUNS.length > 1 && this.run === null ? "row of-runs" : "row" },
      make("span", { class: "row-states" }, letters.map((letter, place) => stateMark(letter, task.places[place][0]))),
      make(
        "span",
        { class: "row-text" },
        make("span", { class: "row-id" }, foreign(documents.ids[number], null, "span", { class: "mono" }), this.query.get("task") ? null : make("span", { class: "row-task" }, foreign(task.name)), task.language && !this.query.get("language") ? make("span", { class: "row-language" }, task.language) : null),
        foreign(documents.valueOf("question", number) ?? "", task.language, "span", { class: "row-question" }),
        make("span", { class: "row-answer" }, task.places.length === 1 ? this.rowAnswer(documents, number, letters[0]) : rowAnswers(documents, number)),
      ),
    );
  }

  /** What one run answered, and the right answer if that was another. */
  rowAnswer(documents, number, letter) {
    const { language, kind } = documents.task;
    const answer = documents.valueOf("answer", number);
    const shown = letter === "f" ? make("span", { class: "none" }, say("state_failed")) : answer === null ? make("span", { class: "none" }, say("nothing_read")) : foreign(answer, language);
    return [shown, letter === "r" || kind === "roll" ? null : [make("span", { class: "arrow", "aria-label": say("gold") }, " → "), foreign(documents.valueOf("target", number) ?? "", language)]];
  }

  /** Open the document that the address names, or the first. */
  openFromAddress() {
    const wanted = this.query.get("doc");
    if (wanted === null) {
      fill(this.detail, make("p", { class: "nothing" }, say(this.found.length ? "choose_document" : "nothing")));
      if (this.found.length && wide()) this.open(0, false);
      return;
    }
    const at = this.found.find(wanted);
    if (at < 0) {
      fill(this.detail, make("p", { class: "nothing" }, say("no_such_document"), " ", foreign(wanted)));
      return;
    }
    this.rows.mark(at);
    this.element.classList.add("opened");
    this.open(at, false);
  }

  async open(at, address = true) {
    this.rows.mark(at);
    const [documents, number] = this.found.at(at);
    const id = documents.ids[number];
    if (address) {
      this.query.set("doc", id);
      this.go(`#/samples?${this.query}`, false);
      this.element.classList.add("opened");
    }
    const entries = await this.entriesOf(documents, number);
    if (this.rows.current !== at) return;
    this.opened = { at, id, task: documents.task, entries };
    this.drawSample();
    if (address && !wide()) this.detail.focus();
    announce(say("opened_document", { id }));
  }

  /** The document in each run that asked it: {run, cell, sample, states}. */
  async entriesOf(documents, number) {
    const found = await Promise.all(
      documents.task.places.map(async ([run, cell], place) => {
        const position = documents.positionAt(place, number);
        if (position < 0) return null;
        const letters = documents.indexes[place].states;
        const states = Object.fromEntries(Object.entries(letters).map(([name, all]) => [name, all[position]]));
        return { run, cell, states, sample: await sampleAt(run, cell, position) };
      }),
    );
    return found.filter(Boolean);
  }

  drawSample() {
    const view = { ...this.opened, reading, last: this.found.length - 1, query: this.query, pair: this.pair, together: this.run === null, back: () => this.element.classList.remove("opened"), move: (step) => this.rows.choose(this.opened.at + step), toggle: (name) => this.toggle(name) };
    fill(this.detail, ...(view.together ? sideBySide(view) : documentParts(view)));
  }

  toggle(name) {
    reading[name] = !reading[name];
    const top = this.detail.scrollTop;
    this.drawSample();
    this.detail.scrollTop = top;
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

/** Whether a document was right: a mark, in words for screen readers, above the run's colour. */
function stateMark(letter, run) {
  const shown = letter === "" ? "–" : MARKS[letter];
  const word = letter === "" ? say("not_asked") : say(`state_${STATES[letter]}`);
  const name = RUNS.length > 1 ? `${runName(run)}: ` : "";
  return make("span", { class: `state state-${letter || "n"} ${runColour(run)}`, title: `${name}${word}` }, shown, make("span", { class: "off-screen" }, `${name}${word} `));
}

/** The different answers of several runs, and the right one. */
function rowAnswers(documents, number) {
  const { language } = documents.task;
  const known = documents.indexes.map((index, place) => [index, documents.positionAt(place, number)]).filter(([, position]) => position >= 0);
  const answers = [...new Set(known.map(([index, position]) => index.answer?.[position] ?? "–"))];
  return [foreign(answers.join(" / "), language), make("span", { class: "arrow", "aria-label": say("gold") }, " → "), foreign(documents.valueOf("target", number) ?? "", language)];
}
