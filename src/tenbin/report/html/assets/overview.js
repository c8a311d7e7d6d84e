// The overview: facts of each run, every score with its interval on one scale, groups.

import { foreign, make, say } from "./elements.js";
import { bare, count, duration, moment, score, span } from "./numbers.js";
import { RUNS, runName } from "./cells.js";
import { Table } from "./table.js";
import { foldedFigure } from "./figure.js";

/** A dot with its interval on a scale from 0 to the full score; a tick at chance level. */
export function whisker(metric, chance = null) {
  const top = metric.unit === "%" ? 100 : 1;
  const inside = (value) => value !== null && value >= 0 && value <= top;
  if (!inside(metric.value)) return make("span", { class: "whisker" });
  const at = (value) => `${(100 * Math.min(top, Math.max(0, value))) / top}%`;
  const box = make("span", { class: "whisker", "aria-hidden": "true" });
  if (chance !== null && /^(balanced_)?acc/.test(metric.name)) {
    const tick = make("span", { class: "chance" });
    tick.style.insetInlineStart = at(chance);
    box.append(tick);
  }
  if (metric.low !== null) {
    const line = make("span", { class: "line" });
    line.style.insetInlineStart = at(metric.low);
    line.style.width = `calc(${at(metric.high)} - ${at(metric.low)})`;
    box.append(line);
  }
  const dot = make("span", { class: "dot" });
  dot.style.insetInlineStart = at(metric.value);
  box.append(dot);
  return box;
}

/** `acc ↑`; the arrow says which way is better. */
export function metricName(metric) {
  return make("span", {}, foreign(metric.name, null, "span", { class: "mono" }), make("span", { class: "direction", title: say(metric.up ? "higher_better" : "lower_better") }, metric.up ? " ↑" : " ↓"));
}

export function overviewView() {
  const nodes = RUNS.map((run, at) => runHead(run, at));
  const scores = scoreTable();
  nodes.push(scores.element, foldedFigure("scores"));
  if (RUNS.some((run) => run.groups.length)) nodes.push(make("h2", {}, say("groups")), make("p", { class: "note" }, say("groups_note")), groupTable().element);
  return nodes;
}

function runHead(run, at) {
  const facts = run.facts;
  const pairs = [
    [say("engine"), [facts.engine, facts.mode, facts.dtype, facts.device].filter((fact) => fact && fact !== "none").join(", ")],
    [say("date"), moment(facts.date)],
    [say("time"), duration(facts.seconds) + (facts.from_journal ? ` (${say("from_journal", { n: count(facts.from_journal) })})` : "")],
    [say("documents"), count(facts.documents)],
    [say("answer_tokens"), [facts.scored_tokens ? say("scored_tokens", { n: count(facts.scored_tokens) }) : null, facts.generated_tokens ? say("written_tokens", { n: count(facts.generated_tokens) }) : null].filter(Boolean).join(", ") || "–"],
  ];
  if (facts.thinking) pairs.push([say("thinking"), thinkingFacts(facts.thinking)]);
  if (facts.choices_by) pairs.push([say("choices_by"), facts.choices_by]);
  if (facts.usage) pairs.push([say("usage"), usageText(facts.usage)]);
  return make(
    "section",
    { class: "run-head" },
    make("h2", { class: "model" }, RUNS.length > 1 ? make("span", { class: "run-number" }, String(at + 1)) : null, foreign(run.model || say("unknown_model"))),
    RUNS.length > 1 ? make("p", { class: "note" }, foreign(runName(at), null, "span", { class: "mono" })) : null,
    make("dl", { class: "facts" }, pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, foreign(value))))),
    run.partial ? make("p", { class: "caution", role: "alert" }, say("partial_run", { n: count(run.partial.answered), all: count(run.partial.asked) })) : null,
    run.stopping.map((one) => make("p", { class: "stopped" }, foreign(one.id, null, "span", { class: "mono" }), ": ", say(`stop_${one.ended}`, { metric: one.metric, found: one.found ?? "–", wanted: one.wanted, n: count(one.asked), all: count(one.documents) }))),
    run.sample_data ? make("p", { class: "caution" }, say("sample_data_note")) : null,
    run.warnings.length ? make("p", { class: "caution" }, say("warnings_count", { n: run.warnings.length }), " ", make("a", { href: "#/details" }, say("see_details"))) : null,
  );
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
    usage.cost === null ? null : say("usage_cost", { cost: `${formatCost(usage.cost)} ${usage.prices?.currency ?? ""}`.trim() }),
    usage.not_counted ? say("usage_not_counted", { n: count(usage.not_counted) }) : null,
  ].filter(Boolean).join(" · ");
}

function scoreTable() {
  const several = RUNS.length > 1;
  const rows = RUNS.flatMap((run, r) =>
    run.cells.filter((cell) => cell.role !== "select" && cell.role !== "part").flatMap((cell) => cell.metrics.map((metric, m) => ({ run: r, cell, metric, first: m === 0 }))),
  );
  const columns = [
    several ? { label: say("run"), value: (row) => row.run, show: (row) => String(row.run + 1), plain: (row) => row.run + 1 } : null,
    { label: say("task"), class: "task", value: (row) => row.cell.id, show: (row) => make("a", { href: samplesLink(row.run, row.cell.id) }, foreign(row.cell.task), make("span", { class: "version" }, ` ${row.cell.version ?? ""}`)), plain: (row) => `${row.cell.task} ${row.cell.version ?? ""}` },
    { label: say("template"), value: (row) => row.cell.template, show: (row) => foreign(row.cell.template ?? "–"), plain: (row) => row.cell.template },
    { label: say("language"), class: "minor", value: (row) => row.cell.language, show: (row) => row.cell.language ?? "–", plain: (row) => row.cell.language },
    { label: say("shots"), number: true, class: "minor", value: (row) => row.cell.shots, show: (row) => String(row.cell.shots ?? "–"), plain: (row) => row.cell.shots },
    { label: "n", number: true, class: "minor", value: (row) => row.metric.n, show: (row) => count(row.metric.n), plain: (row) => row.metric.n },
    { label: say("metric"), class: "metric", value: (row) => row.metric.name, show: (row) => metricName(row.metric), plain: (row) => row.metric.name },
    { label: say("value"), number: true, class: "value", value: (row) => (row.metric.unit ? row.metric.value / 100 : row.metric.value), show: (row) => score(row.metric.value, row.metric.unit), plain: (row) => bareFour(row.metric.value, row.metric.unit) },
    { label: "", spoken: say("plot"), class: "plot", show: (row) => whisker(row.metric, row.cell.samples?.chance ?? null) },
    { label: say("interval"), number: true, class: "interval minor", value: (row) => (row.metric.low === null ? null : (row.metric.high - row.metric.low) / (row.metric.unit ? 100 : 1)), show: (row) => span(row.metric.low, row.metric.high, row.metric.unit), plain: (row) => span(row.metric.low, row.metric.high, row.metric.unit) },
    { label: say("failed"), number: true, value: (row) => row.metric.failed, show: (row) => make("span", { class: row.metric.failed ? "some" : "none" }, count(row.metric.failed)), plain: (row) => row.metric.failed },
  ].filter(Boolean);
  const status = make("span", { class: "note", role: "status" });
  const words = make("input", { type: "search", placeholder: say("filter_tasks"), "aria-label": say("filter_tasks"), id: "task-filter" });
  const all = make("input", { type: "checkbox", id: "all-metrics" });
  const table = new Table(say("scores_caption"), columns, rows, { class: "scores", hideCaption: true, drawn: (n) => (status.textContent = say("rows_shown", { n })) });
  const apply = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    table.filter = (row) => (all.checked || row.first) && wanted.every((word) => [row.cell.id, row.cell.task, row.cell.template, row.cell.language, row.metric.name].join(" ").toLowerCase().includes(word));
    table.draw();
  };
  words.addEventListener("input", apply);
  all.addEventListener("change", apply);
  table.element.prepend(make("div", { class: "controls" }, words, make("label", { for: "all-metrics" }, all, " ", say("all_metrics")), status));
  table.element.append(make("p", { class: "note" }, say("interval_note")));
  apply();
  return table;
}

function bareFour(value, unit) {
  return value === null ? "–" : value.toFixed(unit ? 2 : 4);
}

function groupTable() {
  const several = RUNS.length > 1;
  const rows = RUNS.flatMap((run, r) => run.groups.flatMap((group) => group.metrics.map((metric) => ({ run: r, group, metric }))));
  return new Table(
    say("groups"),
    [
      several ? { label: say("run"), value: (row) => row.run, show: (row) => String(row.run + 1), plain: (row) => row.run + 1 } : null,
      { label: say("group"), value: (row) => row.group.id, show: (row) => foreign(row.group.id), plain: (row) => row.group.id },
      { label: say("tasks"), number: true, value: (row) => row.group.members.length, show: (row) => String(row.group.members.length), plain: (row) => row.group.members.length },
      { label: "n", number: true, class: "minor", value: (row) => row.metric.n, show: (row) => count(row.metric.n), plain: (row) => row.metric.n },
      { label: say("metric"), class: "metric", value: (row) => row.metric.name, show: (row) => metricName(row.metric), plain: (row) => row.metric.name },
      { label: say("value"), number: true, class: "value", value: (row) => row.metric.value, show: (row) => score(row.metric.value, row.metric.unit), plain: (row) => bareFour(row.metric.value, row.metric.unit) },
      { label: "", spoken: say("plot"), class: "plot", show: (row) => whisker(row.metric) },
      { label: say("interval"), number: true, class: "interval minor", value: (row) => row.metric.low, show: (row) => span(row.metric.low, row.metric.high, row.metric.unit), plain: (row) => span(row.metric.low, row.metric.high, row.metric.unit) },
      RUNS.some((run) => run.groups.some((group) => group.weighting)) ? { label: say("weighting"), class: "minor", value: (row) => row.group.weighting, show: (row) => (row.group.weighting ? foreign(row.group.weighting, null, "span") : ""), plain: (row) => row.group.weighting } : null,
      { label: say("mean_of_tasks"), number: true, value: (row) => row.metric.unweighted, show: (row) => bare(row.metric.unweighted, row.metric.unit), plain: (row) => bare(row.metric.unweighted, row.metric.unit) },
    ].filter(Boolean),
    rows,
    { class: "scores", hideCaption: true },
  );
}

/** The address of a cell's samples. */
export function samplesLink(run, cell, more = {}) {
  return `#/samples?${new URLSearchParams({ run: String(run + 1), task: cell, ...more })}`;
}
