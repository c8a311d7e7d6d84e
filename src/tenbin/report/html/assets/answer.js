// The generated answer, how each filter read it, and each metric's value.

import { foreign, make, say, scroller } from "./elements.js";
import { MARKS } from "./cells.js";
import { verbatim } from "./prompt.js";

/** A generated text, or a note that it is empty. */
export function writtenText(text, language, reveal) {
  return text === "" ? make("p", { class: "none" }, say("empty_answer")) : verbatim(text, language, reveal, say("generated"));
}

/** A generated text, why it ended, and how each filter read it. */
export function generatedView(sample, language, reveal) {
  const finish = { stop: say("finish_stop"), end: say("finish_end"), length: say("finish_length") }[sample.finish] ?? sample.finish;
  return [
    thinkingView(sample, language, reveal),
    writtenText(sample.generated, language, reveal),
    make("p", { class: "note" }, [finish, sample.generated_tokens !== undefined ? say("token_count", { n: sample.generated_tokens }) : null, sample.limit ? say("token_limit", { n: sample.limit }) : null].filter(Boolean).join(" · ")),
    sample.sampled ? sampledView(sample, language, reveal) : null,
    (sample.readings || []).map((reading) => readingView(reading, language, reveal)),
  ];
}

/** The thinking before an answer, collapsed; null if it was not separated from the answer. */
function thinkingView(answer, language, reveal) {
  const end = answer.thinking_end;
  if (!end) return null;
  const name = say(`thinking_${end}`);
  if (!answer.thinking) return make("p", { class: "note" }, name);
  // Some servers separate thinking without counting its tokens.
  const tokens = answer.thinking_tokens ? say("token_count", { n: answer.thinking_tokens }) : null;
  return make("details", { class: "thinking" }, make("summary", {}, [name, tokens].filter(Boolean).join(" · ")), verbatim(answer.thinking, language, reveal, say("thinking_text")));
}

/** Every sampled answer, with its value under the first metric. */
function sampledView(sample, language, reveal) {
  const values = sample.outcomes?.[0]?.values ?? [];
  const one = (answer, at) => make("li", {}, thinkingView(answer, language, reveal), answer.text === null ? make("span", { class: "none" }, say("state_failed")) : verbatim(answer.text, language, reveal, say("sampled_answer", { n: at + 1 })), values[at] === undefined || values[at] === null ? null : make("span", { class: "note" }, `${say("value")} ${Number(values[at].toFixed(4))}`));
  return make("details", {}, make("summary", {}, say("sampled_answers", { n: sample.sampled.length })), make("ol", { class: "steps" }, sample.sampled.map(one)));
}

function readingView(reading, language, reveal) {
  const steps = reading.steps.map((step) =>
    make(
      "li",
      {},
      make("span", { class: "step-name" }, say(`step_${step.name.replaceAll(" ", "_")}`)),
      step.mentions?.length
        ? make("span", { class: "mentions" }, step.mentions.map(([letters, standing]) => make("span", { class: `mention ${standing}` }, foreign(letters), ` ${say(`standing_${standing}`)}`)))
        : null,
      " ",
      step.text === null ? make("span", { class: "none" }, say(step.too_slow ? "pattern_too_slow" : "nothing_read")) : verbatim(step.text, language, reveal, say("after_step")),
    ),
  );
  return make("section", { class: "reading" }, make("h4", {}, foreign(reading.filter, null, "span", { class: "mono" })), make("ol", { class: "steps" }, steps));
}

/** The extracted answer, or the length that a rolling log-likelihood is divided by. */
function readAs(outcome) {
  if (outcome.weight !== null && outcome.weight !== undefined) return say("over_length", { n: outcome.weight });
  if (outcome.answer === null || outcome.answer === undefined) return make("span", { class: "none" }, say("nothing_read"));
  return foreign(outcome.answer);
}

/** The value of each metric. */
export function outcomesView(sample, states) {
  const rows = (sample.outcomes || []).map((outcome) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, foreign(outcome.metric, null, "span", { class: "mono" })),
      make("td", {}, make("span", { class: `state state-${states[outcome.metric] ?? "n"}` }, MARKS[states[outcome.metric] ?? "n"])),
      make("td", { class: "number" }, outcome.value === null ? "–" : Number(outcome.value.toFixed(4))),
      make("td", {}, readAs(outcome)),
    ),
  );
  return scroller(
    say("evaluation"),
    make("table", { class: "outcomes" }, make("caption", { class: "off-screen" }, say("evaluation")), make("thead", {}, make("tr", {}, make("th", { scope: "col" }, say("metric")), make("th", { scope: "col" }, say("state")), make("th", { scope: "col", class: "number" }, say("value")), make("th", { scope: "col" }, say("read_as")))), make("tbody", {}, rows)),
  );
}
