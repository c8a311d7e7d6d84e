// One document in one run: prompt, answer, evaluation, and where else it was asked.

import { copyButton, fill, foreign, make, say } from "./elements.js";
import { MARKS, RUNS, STATES, indexOf, placeOf, runName, samplesLink, statesOf } from "./cells.js";
import { promptView } from "./prompt.js";
import { generatedView, outcomesView } from "./answer.js";
import { choicesView, pickedView } from "./choices.js";
import { runLabel } from "./runs.js";

const MOST_ELSEWHERE = 80;

/** The parts of a document that one run shows alone. */
export function documentParts(view) {
  const { task, reading } = view;
  const [{ run, cell, sample, states }] = view.entries;
  return [
    documentHeader(view, sample, samplesLink(run, RUNS[run].cells[cell].id, { doc: sample.document })),
    documentNotes(sample),
    make("h3", {}, say("prompt")),
    promptView(sample, task.language, reading.reveal, reading.unfold, (open) => (reading.unfold = open)),
    answerPart(sample, task.language, reading.reveal),
    make("h3", {}, say("evaluation")),
    outcomesView(sample, states),
    documentFacts(sample),
    elsewhere(run, cell, sample, view.query.get("metric")),
  ];
}

/** Id, task and tools. */
export function documentHeader(view, sample, address) {
  const { at, last, reading, task } = view;
  const toggle = (name, label, key) => make("button", { type: "button", class: "quiet", "aria-pressed": String(reading[name]), "aria-keyshortcuts": key, onclick: () => view.toggle(name) }, label);
  const only = !view.together && RUNS.length > 1 ? view.entries[0].run : null;
  return make(
    "header",
    {},
    make("button", { type: "button", class: "quiet back", onclick: view.back }, say("back_to_list")),
    make("h2", {}, foreign(sample.document, null, "span", { class: "mono" }), " ", make("span", { class: "of" }, foreign(task.name)), only === null ? null : make("span", { class: "of" }, " ", runLabel(only))),
    make(
      "p",
      { class: "tools" },
      make("button", { type: "button", class: "quiet", "aria-keyshortcuts": "k", disabled: at === 0, onclick: () => view.move(-1) }, say("previous")),
      make("button", { type: "button", class: "quiet", "aria-keyshortcuts": "j", disabled: at === last, onclick: () => view.move(1) }, say("next")),
      toggle("reveal", say("reveal"), "x"),
      (sample.parts || []).length > 1 ? toggle("unfold", say("unfold"), "f") : null,
      copyButton(say("copy_prompt"), () => sample.parts.map(([, text]) => text).join("")),
      copyButton(say("copy_link"), () => `${location.href.split("#")[0]}${address}`),
      only === null ? null : make("a", { class: "button", href: samplesLink(null, task.name, { doc: sample.document }) }, say("side_by_side")),
    ),
  );
}

/** A failure, and what was done to the prompt. */
export function documentNotes(sample) {
  const notes = [
    sample.dropped ? say("dropped_note", { n: sample.dropped }) : null,
    sample.rotation ? say("rotated_note", { n: sample.rotation }) : null,
    sample.truncated ? say("truncated_note", { n: sample.truncated }) : null,
  ].filter(Boolean);
  return [
    sample.failure ? make("p", { class: "failure", role: "note" }, say("state_failed"), ": ", foreign(`${sample.failure[0]}: ${sample.failure[1]}`)) : null,
    notes.map((note) => make("p", { class: "caution" }, note)),
  ];
}

function answerPart(sample, language, reveal) {
  if (sample.picked_by && sample.choices) return [make("h3", {}, say("choices")), pickedView(sample, language, reveal)];
  if (sample.logprobs && sample.choices) return [make("h3", {}, say("choices")), choicesView(sample, language, reveal)];
  if (sample.generated !== undefined) return [make("h3", {}, say("generated")), generatedView(sample, language, reveal)];
  if (sample.logprobs) return [make("h3", {}, say("log_likelihood")), make("p", {}, say("raw_logprob", { value: Number(sample.logprobs[0]).toFixed(3), tokens: sample.tokens?.[0] ?? "–" }))];
  if (sample.choices) return [make("h3", {}, say("choices")), make("ol", { class: "scored" }, sample.choices.map((one) => make("li", {}, foreign(one, language))))];
  return null;
}

/** Right answers, examples, stop strings, group. */
export function documentFacts(sample) {
  const quoted = (values) => values.map((one, at) => [at ? ", " : "", foreign(JSON.stringify(one))]).flat();
  const pairs = [
    sample.logprobs && !sample.choices ? null : [say("gold"), sample.references?.length ? quoted(sample.references) : foreign(sample.target ?? "–")],
    sample.examples?.length ? [say("example_ids"), foreign(sample.examples.join(", "), null, "span", { class: "mono" })] : null,
    sample.stop?.length ? [say("stop_strings"), quoted(sample.stop)] : null,
    sample.group ? [say("belongs_to"), foreign(sample.group, null, "span", { class: "mono" })] : null,
  ].filter(Boolean);
  return make("dl", { class: "facts small" }, pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

/** The same document under other templates and in other runs, the same item in other languages. */
export function elsewhere(run, cell, sample, metric, others = (r) => r >= 0) {
  const about = RUNS[run].cells[cell];
  const place = make("section", { class: "elsewhere" });
  const found = [];
  RUNS.forEach((other, r) =>
    other.cells.forEach((one, c) => {
      if ((r === run && c === cell) || !one.samples || found.length > MOST_ELSEWHERE || !others(r, one)) return;
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
      const letter = statesOf(index, metric)[at];
      const name = `${RUNS.length > 1 ? `${runName(r)} · ` : ""}${RUNS[r].cells[c].id}`;
      links.push(make("li", {}, make("a", { href: samplesLink(r, RUNS[r].cells[c].id, { doc: index.document[at] }) }, make("span", { class: `state state-${letter}` }, MARKS[letter]), " ", foreign(name), make("span", { class: "off-screen" }, ` ${say(`state_${STATES[letter]}`)}`))));
    }
    if (links.length) fill(place, make("h3", {}, say("elsewhere")), make("ul", {}, links));
  })();
  return place;
}
