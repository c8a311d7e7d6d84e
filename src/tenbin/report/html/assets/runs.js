// The runs of a page: their names and colours, what must be said of them first, and their facts.

import { foreign, make, say, scroller } from "./elements.js";
import { count, duration, moment } from "./numbers.js";
import { RUNS, SUMMARY, runName } from "./cells.js";
import { runColour } from "./whisker.js";

/** A run's name with its colour, which is the same in tables and charts. */
export function runLabel(run) {
  return make("span", { class: "run-name" }, make("span", { class: `swatch ${runColour(run)}`, "aria-hidden": "true" }), foreign(runName(run)));
}

/** The heading of a run's part of a view; null on a page of one run. */
export function runHeading(run) {
  return RUNS.length > 1 ? make("h2", { class: "of-runs" }, runLabel(run)) : null;
}

/** A choice of a run: options are [value, text]. */
export function runSelect(id, label, options, value, changed) {
  const field = make("select", { id, "aria-label": label }, options.map(([one, text]) => make("option", { value: one, selected: one === value }, text)));
  field.addEventListener("change", () => changed(field.value));
  return field;
}

/** What a reader must know before the scores: runs that were stopped, sample rows, warnings. */
export function notices() {
  const lines = RUNS.flatMap((run, at) => noticesOf(run).map((line) => ({ at, ...line })));
  const texts = [...new Set(lines.map((line) => line.text))];
  return texts.map((text) => {
    const same = lines.filter((line) => line.text === text);
    const who = RUNS.length === 1 || same.length === RUNS.length ? null : make("span", { class: "whose" }, same.map((line) => runLabel(line.at)));
    return make("p", { class: same[0].kind, role: same[0].alert ? "alert" : null }, who, text, same[0].link ? [" ", make("a", { href: "#/details" }, say("see_details"))] : null);
  });
}

function noticesOf(run) {
  const found = [];
  if (run.partial) found.push({ kind: "caution", alert: true, text: say("partial_run", { n: count(run.partial.answered), all: count(run.partial.asked) }) });
  for (const one of run.stopping) found.push({ kind: "stopped", text: `${one.id}: ${say(`stop_${one.ended}`, { metric: one.metric, found: one.found ?? "–", wanted: one.wanted, n: count(one.asked), all: count(one.documents) })}` });
  if (run.sample_data) found.push({ kind: "caution", text: say("sample_data_note") });
  if (run.warnings.length) found.push({ kind: "caution", link: true, text: say("warnings_count", { n: run.warnings.length }) });
  return found;
}

/** [name, text] of what is known of a run besides its scores. */
function factsOf(run) {
  const known = run.facts;
  const tokens = [known.scored_tokens ? say("scored_tokens", { n: count(known.scored_tokens) }) : null, known.generated_tokens ? say("written_tokens", { n: count(known.generated_tokens) }) : null].filter(Boolean);
  return [
    ["model", run.model || say("unknown_model")],
    ["engine", [known.engine, known.mode, known.dtype, known.device].filter((fact) => fact && fact !== "none").join(", ")],
    ["date", moment(known.date)],
    ["time", duration(known.seconds) + (known.from_journal ? ` (${say("from_journal", { n: count(known.from_journal) })})` : "")],
    ["documents", count(known.documents)],
    ["answer_tokens", tokens.join(", ") || "–"],
    ["thinking", known.thinking ? thinkingFacts(known.thinking) : null],
    ["choices_by", known.choices_by],
    ["usage", known.usage ? usageText(known.usage) : null],
    ["folder", run.folder],
  ];
}

/** How a page's only run was made. */
export function runFacts(run) {
  const pairs = factsOf(run).filter(([, value]) => value);
  return make("section", { class: "run-facts" }, make("h2", {}, say("this_run")), make("dl", { class: "facts" }, pairs.map(([name, value]) => make("div", {}, make("dt", {}, say(name)), make("dd", {}, foreign(value))))));
}

/** How several runs were made, side by side; the options in which they differ come first. */
export function runsTable() {
  const own = RUNS.map((run) => new Map(factsOf(run)));
  const rows = [
    ...SUMMARY.settings.map((one) => [foreign(one.name, null, "span", { class: "mono" }), one.values]),
    ...[...own[0].keys()].map((name) => [say(name), own.map((known) => known.get(name))]).filter(([, values]) => values.some(Boolean)),
  ];
  const head = make("tr", {}, make("td", {}), RUNS.map((_, at) => make("th", { scope: "col" }, runLabel(at))));
  const body = rows.map(([name, values]) => make("tr", {}, make("th", { scope: "row" }, name), values.map((value) => make("td", {}, foreign(value || "–")))));
  return make("section", { class: "run-facts" }, make("h2", {}, say("the_runs")), scroller(say("the_runs"), make("table", { class: "beside" }, make("caption", { class: "off-screen" }, say("the_runs")), make("thead", {}, head), make("tbody", {}, body))));
}

/** Mean lengths of thinking and answers, and how often thinking was cut, open or missing. */
function thinkingFacts(thinking) {
  const lengths = say("thinking_lengths", { thinking: count(Math.round(thinking.thinking_tokens)), answer: count(Math.round(thinking.answer_tokens)) });
  const odd = ["budget", "open", "none"].filter((end) => thinking[end]).map((end) => say(`thinking_count_${end}`, { n: count(thinking[end]), all: count(thinking.answers) }));
  return [lengths, ...odd].join(say("list_comma"));
}

/** A cost with four decimals, or as many as show two significant digits. */
function formatCost(cost) {
  return cost.toFixed(cost > 0 ? Math.min(20, Math.max(4, 1 - Math.floor(Math.log10(cost)))) : 4);
}

/** Tokens that a server counted, and their cost if prices are known. */
function usageText(usage) {
  return [
    say("usage_tokens", { prompt: count(usage.prompt_tokens), cached: count(usage.cached_tokens), completion: count(usage.completion_tokens), calls: count(usage.calls) }),
    usage.cost === null ? null : say("usage_cost", { cost: `${formatCost(usage.cost)} ${usage.currency ?? ""}`.trim() }),
    usage.not_counted ? say("usage_not_counted", { n: count(usage.not_counted) }) : null,
  ].filter(Boolean).join(" · ");
}
