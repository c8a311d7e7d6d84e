// One document in several runs side by side: results, choices, answers and prompts, with differences marked.

import { foreign, make, say, scroller } from "./elements.js";
import { letter, percent, shares } from "./numbers.js";
import { MARKS, RUNS, STATES, runName, samplesLink } from "./cells.js";
import { differencePieces } from "./difference.js";
import { documentFacts, documentHeader, documentNotes, elsewhere } from "./one_document.js";
import { revealed, verbatim } from "./prompt.js";
import { generatedView } from "./answer.js";
import { runLabel } from "./runs.js";

/** The parts of a document that all runs share; texts are held against those of the first. */
export function sideBySide(view) {
  const { task, reading } = view;
  // The baseline of the pair comes first, so that texts are held against it.
  const entries = [...view.entries].sort((one, two) => (two.run === view.pair[0]) - (one.run === view.pair[0]));
  const [first] = entries;
  const notes = entries.flatMap((entry) => documentNotes(entry.sample).flat().filter(Boolean).map((note) => make("div", { class: "whose" }, runLabel(entry.run), note)));
  return [
    documentHeader(view, first.sample, samplesLink(null, task.name, { doc: first.sample.document })),
    notes,
    resultTable(entries),
    choicesPart(entries, task.language, reading.reveal),
    answersPart(entries, task.language, reading.reveal),
    promptsPart(entries, task.language, reading),
    documentFacts(first.sample),
    elsewhere(first.run, first.cell, first.sample, view.query.get("metric"), (run, cell) => run === first.run && cell.role === "score"),
  ];
}

/** What each run made of the document; a run's name leads to the document in that run alone. */
function resultTable(entries) {
  const metrics = [...new Set(entries.flatMap(({ sample }) => (sample.outcomes || []).map((one) => one.metric)))];
  const row = ({ run, cell, sample, states }) => {
    const outcomes = new Map((sample.outcomes || []).map((one) => [one.metric, one]));
    const state = states[metrics[0]] ?? "n";
    const answer = outcomes.get(metrics[0])?.answer ?? null;
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, make("a", { class: "bare", href: samplesLink(run, RUNS[run].cells[cell].id, { doc: sample.document }) }, runLabel(run))),
      make("td", {}, make("span", { class: `state state-${state}` }, MARKS[state], " ", say(`state_${STATES[state]}`))),
      make("td", {}, answer === null ? make("span", { class: "none" }, say("nothing_read")) : foreign(answer)),
      metrics.map((name) => make("td", { class: "number" }, (outcomes.get(name)?.value ?? null) === null ? "–" : String(Number(outcomes.get(name).value.toFixed(4))))),
    );
  };
  return scroller(
    say("evaluation"),
    make(
      "table",
      { class: "results" },
      make("caption", { class: "off-screen" }, say("evaluation")),
      make("thead", {}, make("tr", {}, [say("run"), say("state"), say("read_as")].map((name) => make("th", { scope: "col" }, name)), metrics.map((name) => make("th", { scope: "col", class: "number" }, brokenName(name))))),
      make("tbody", {}, entries.map(row)),
    ),
  );
}

/** A metric's name that may break after a comma or an underscore. */
function brokenName(name) {
  return make("span", { class: "mono", dir: "auto" }, name.split(/(?<=[,_])/).map((part) => [part, make("wbr")]));
}

/** The choices with a bar for each run: one table for runs that offered the same choices. */
function choicesPart(entries, language, reveal) {
  const offered = entries.filter(({ sample }) => sample.choices);
  if (!offered.length) return null;
  const alike = groupsBy(offered, ({ sample }) => JSON.stringify([sample.choices, sample.gold]));
  return [make("h3", {}, say("choices")), alike.map((group) => choiceTable(group, language, reveal)), make("p", { class: "note" }, say("share_note"))];
}

function choiceTable(entries, language, reveal) {
  const [{ sample }] = entries;
  const name = (at) => (sample.labels ? (sample.labels[at] ?? "") : letter(at));
  const row = (choice, at) =>
    make(
      "tr",
      { class: at === sample.gold ? "gold" : null },
      make("th", { scope: "row" }, sample.labels ? foreign(name(at)) : name(at)),
      make("td", { class: "choice-text" }, verbatim(choice, language, reveal, name(at)), at === sample.gold ? make("span", { class: "notes" }, say("gold")) : null),
      entries.map((entry) => choiceCell(entry.sample, at)),
    );
  const table = make(
    "table",
    { class: "choices together" },
    make("caption", { class: "off-screen" }, say("choices")),
    make("thead", {}, make("tr", {}, make("td", { class: "choice-letter" }), make("th", { scope: "col", class: "choice-text" }, say("choice")), entries.map((entry) => make("th", { scope: "col", class: "of-run" }, runLabel(entry.run))))),
    make("tbody", {}, sample.choices.map(row)),
  );
  table.style.minWidth = `${12 + 6 * entries.length}rem`;
  return scroller(say("choices"), table);
}

/** The share of one choice in one run, as a bar; the chosen one is said so. */
function choiceCell(sample, at) {
  const chosen = sample.outcomes?.[0]?.predicted === at;
  const kind = chosen ? (at === sample.gold ? "hit" : "miss") : "";
  const share = shareOf(sample, at);
  const filled = make("span", { class: "bar-fill" });
  filled.style.width = `${(100 * (share ?? 0)).toFixed(2)}%`;
  return make(
    "td",
    { class: `of-run ${kind}`, title: sample.logprobs ? say("raw_logprob", { value: Number(sample.logprobs[at]).toFixed(3), tokens: sample.tokens?.[at] ?? "–" }) : null },
    share === null ? null : make("span", { class: "bar-track", "aria-hidden": "true" }, filled),
    make("span", { class: "bar-number" }, share === null ? "" : percent(share, 1), chosen ? make("span", { class: "notes" }, ` ${say("chosen")}`) : null),
  );
}

function shareOf(sample, at) {
  if (sample.logprobs) return shares(sample.logprobs)[at];
  const shown = sample.label_logprobs?.[at];
  return shown === null || shown === undefined ? null : Math.exp(Number(shown));
}

/** Generated answers in columns; what differs from the first is marked. */
function answersPart(entries, language, reveal) {
  const written = entries.filter(({ sample }) => sample.generated !== undefined);
  if (!written.length) return null;
  const first = written[0].sample.generated;
  const column = (entry, at) => {
    const shown = generatedView(entry.sample, language, reveal);
    if (at > 0 && entry.sample.generated !== "") shown[1] = markedText(first, entry.sample.generated, language, reveal, say("generated"));
    return make("section", { class: "column" }, make("h4", {}, runLabel(entry.run), at > 0 && entry.sample.generated === first ? make("span", { class: "note" }, ` ${say("same_text", { run: runName(written[0].run) })}`) : null), shown);
  };
  return [make("h3", {}, say("generated")), legend(written.length > 1 && written.some(({ sample }) => sample.generated !== first), written[0].run), make("div", { class: "columns" }, written.map(column))];
}

/** Every prompt once, with the runs that asked it; what differs from the first is marked. */
function promptsPart(entries, language, reading) {
  const alike = groupsBy(entries, ({ sample }) => JSON.stringify(sample.parts));
  const [base] = alike;
  const whose = (group) => make("h4", {}, group.map((entry) => runLabel(entry.run)));
  const column = (group, at) => make("section", { class: "column" }, alike.length > 1 ? whose(group) : null, promptTexts(base[0].sample, group[0].sample, at > 0, language, reading));
  return [
    make("h3", {}, say("prompt"), alike.length === 1 && entries.length > 1 ? make("span", { class: "note" }, ` ${say("same_prompt")}`) : null),
    legend(alike.length > 1, base[0].run),
    make("div", { class: alike.length > 1 ? "columns" : "" }, alike.map(column)),
  ];
}

/** What comes before the question, folded, and the question; marked against another prompt. */
function promptTexts(base, sample, marked, language, reading) {
  const [before, question] = split(sample);
  const [oldBefore, oldQuestion] = split(base);
  const text = (old, own, label) => (marked ? markedText(old, own, language, reading.reveal, label) : verbatim(own, language, reading.reveal, label));
  const changed = marked && before !== oldBefore ? make("span", { class: "badge" }, say("differs")) : null;
  const inside = make("div", { class: "parts" });
  const fold = make("details", { class: "examples", open: reading.unfold }, make("summary", {}, say("before_question_size", { size: [...before].length.toLocaleString("en") }), changed), inside);
  const draw = () => inside.childElementCount || inside.append(text(oldBefore, before, say("description")));
  fold.addEventListener("toggle", () => fold.open && draw());
  if (reading.unfold) draw();
  return [before ? fold : oldBefore && marked ? make("p", { class: "note" }, say("nothing_before_question")) : null, text(oldQuestion, question, say("question"))];
}

function split(sample) {
  const texts = (sample.parts || []).map(([, text]) => text);
  return [texts.slice(0, -1).join(""), texts.at(-1) ?? ""];
}

/** A text with what is only in it underlined, and what only the other has struck through. */
function markedText(other, text, language, reveal, label) {
  const block = foreign("", language, "pre", { tabindex: "0", role: "group", "aria-label": label });
  const written = (piece, changed) => (reveal || (changed && !piece.trim()) ? revealed(piece) : piece);
  for (const [kind, piece] of differencePieces(other, text)) {
    if (kind === "same") block.append(...[written(piece, false)].flat());
    else block.append(make(kind === "added" ? "ins" : "del", {}, written(piece, true)));
  }
  return block;
}

function legend(shown, run) {
  return shown ? make("p", { class: "note legend" }, make("ins", {}, say("only_here_text")), " ", make("del", {}, say("only_there_text", { run: runName(run) }))) : null;
}

/** Entries with the same key together, in order. */
function groupsBy(entries, key) {
  const groups = new Map();
  for (const entry of entries) groups.set(key(entry), [...(groups.get(key(entry)) ?? []), entry]);
  return [...groups.values()];
}
