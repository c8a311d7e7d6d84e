// Choices in a table: the gold one, the chosen one, and each one's probability.

import { writtenText } from "./answer.js";
import { foreign, make, say, scroller } from "./elements.js";
import { letter, percent, shares } from "./numbers.js";
import { verbatim } from "./prompt.js";

/**
 * One row per choice: its label, its text, and columns {label, show(at) → node or text, number:
 * right-aligned, class and title(at) of its cells}.
 */
export function choicesTable(sample, language, reveal, columns) {
  const chosen = sample.outcomes?.[0]?.predicted;
  const classes = (column) => [column.number ? "number" : "", column.class || ""].join(" ");
  const heading = (column) => make(column.label ? "th" : "td", { class: column.number ? "number" : null, scope: column.label ? "col" : null }, column.label || "");
  const rows = sample.choices.map((choice, at) => {
    const [isGold, isChosen] = [at === sample.gold, at === chosen];
    const notes = [isGold ? say("gold") : null, isChosen ? say("chosen") : null].filter(Boolean);
    const name = sample.labels ? (sample.labels[at] ?? "") : letter(at);
    return make(
      "tr",
      { class: [isGold ? "gold" : "", isChosen ? (isGold ? "hit" : "miss") : ""].join(" ") },
      make("th", { scope: "row" }, sample.labels ? foreign(name) : name),
      make("td", { class: "choice-text" }, verbatim(choice, language, reveal, name), notes.length ? make("span", { class: "notes" }, notes.join(" · ")) : null),
      columns.map((column) => make("td", { class: classes(column), title: column.title?.(at) }, column.show(at))),
    );
  });
  return scroller(
    say("choices"),
    make(
      "table",
      { class: "choices" },
      make("caption", { class: "off-screen" }, say("choices")),
      make("thead", {}, make("tr", {}, [{}, { label: say("choice") }, ...columns].map(heading))),
      make("tbody", {}, rows),
    ),
  );
}

/** Choices scored by log-likelihood, with their shares of the total probability as bars. */
export function choicesView(sample, language, reveal) {
  const parts = shares(sample.logprobs);
  const raw = (at) => say("raw_logprob", { value: Number(sample.logprobs[at]).toFixed(3), tokens: sample.tokens?.[at] ?? "–" });
  const alone = (at) => (sample.unconditional ? say("raw_alone", { value: Number(sample.unconditional[at]).toFixed(3) }) : "");
  const bar = (at) => {
    const filled = make("span", { class: "bar-fill" });
    filled.style.width = `${(100 * parts[at]).toFixed(2)}%`;
    return make("span", { class: "bar-track", "aria-hidden": "true" }, filled);
  };
  const table = choicesTable(sample, language, reveal, [
    { label: say("share"), class: "bar", title: (at) => `${raw(at)} ${alone(at)}`.trim(), show: bar },
    { number: true, show: (at) => percent(parts[at], 1) },
    { label: say("log_likelihood"), number: true, class: "raw", show: (at) => Number(sample.logprobs[at]).toFixed(2) },
    { label: say("tokens"), number: true, class: "raw", show: (at) => sample.tokens?.[at] ?? "–" },
  ]);
  const scored = (sample.continuations || []).map((one) => make("li", {}, verbatim(one, language, true, say("scored_exactly"))));
  return [table, sample.continuations ? make("details", {}, make("summary", {}, say("scored_exactly")), make("ol", { class: "scored" }, scored)) : null];
}

/** Choices picked by label, with each label's first-token probability if the server returned it. */
export function pickedView(sample, language, reveal) {
  const chosen = sample.outcomes?.[0]?.predicted;
  const share = (at) => {
    const shown = sample.label_logprobs?.[at];
    return percent(shown === null || shown === undefined ? null : Math.exp(Number(shown)), 1);
  };
  return [
    make("p", { class: "note" }, say(`picked_${sample.picked_by}`), chosen === null || chosen === undefined ? ` ${say("no_choice_named")}` : ""),
    choicesTable(sample, language, reveal, [{ label: say("first_token_share"), number: true, show: share }]),
    sample.added ? make("details", {}, make("summary", {}, say("added_to_prompt")), verbatim(sample.added, language, reveal, say("added_to_prompt"))) : null,
    make("h4", {}, say("generated")),
    writtenText(sample.generated ?? "", language, reveal),
  ];
}
