// A choice that the model named: the labels, what it wrote, and what was put behind the prompt.

import { foreign, make, say } from "./elements.js";
import { verbatim } from "./prompt.js";

/** Choices with the share of the first token that each label got, where the server showed it. */
export function namedView(sample, language, reveal) {
  const chosen = sample.outcomes?.[0]?.predicted;
  const shown = sample.label_logprobs || [];
  const rows = sample.choices.map((choice, at) => {
    const notes = [at === sample.gold ? say("gold") : null, at === chosen ? say("chosen") : null].filter(Boolean);
    const share = shown[at] === null || shown[at] === undefined ? "–" : `${(100 * Math.exp(Number(shown[at]))).toFixed(1)}\u202f%`;
    return make(
      "tr",
      { class: [at === sample.gold ? "gold" : "", at === chosen ? (at === sample.gold ? "hit" : "miss") : ""].join(" ") },
      make("th", { scope: "row" }, foreign(sample.labels?.[at] ?? "")),
      make("td", { class: "choice-text" }, verbatim(choice, language, reveal, sample.labels?.[at] ?? ""), notes.length ? make("span", { class: "notes" }, notes.join(" · ")) : null),
      make("td", { class: "number" }, share),
    );
  });
  return [
    make("p", { class: "note" }, say(`picked_${sample.picked_by}`), chosen === null || chosen === undefined ? ` ${say("no_choice_named")}` : ""),
    make(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": say("choices") },
      make(
        "table",
        { class: "choices" },
        make("caption", { class: "off-screen" }, say("choices")),
        make("thead", {}, make("tr", {}, make("td", {}), make("th", { scope: "col" }, say("choice")), make("th", { scope: "col", class: "number" }, say("first_token_share")))),
        make("tbody", {}, rows),
      ),
    ),
    sample.added ? make("details", {}, make("summary", {}, say("added_to_prompt")), verbatim(sample.added, language, reveal, say("added_to_prompt"))) : null,
    make("h4", {}, say("generated")),
    sample.generated === "" ? make("p", { class: "none" }, say("empty_answer")) : verbatim(sample.generated ?? "", language, reveal, say("generated")),
  ];
}
