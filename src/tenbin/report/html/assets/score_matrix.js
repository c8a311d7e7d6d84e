// The scores of several runs: a row for each group and task, a column for each run.

import { foreign, make, say } from "./elements.js";
import { bareFour, count, score, span } from "./numbers.js";
import { RUNS, SUMMARY, cellById, groupChance, samplesLink } from "./cells.js";
import { Table } from "./table.js";
import { runLabel } from "./runs.js";
import { scoreControls } from "./score_controls.js";
import { metricName, whiskers } from "./whisker.js";

/** The table with its controls. */
export function scoreMatrix() {
  const rows = [...groupRows(), ...taskRows()];
  const status = make("span", { class: "note", role: "status" });
  const table = new Table(say("scores_caption"), [
    { label: say("task"), class: "task", value: (row) => row.name, show: taskName, plain: (row) => `${row.name} ${row.metric.name}` },
    { label: "", spoken: say("plot"), class: "plot", show: (row) => whiskers(row.entries) },
    ...RUNS.map((_, run) => runColumn(run)),
  ], rows, { class: "scores matrix", hideCaption: true, rowClass: (row) => (row.group ? "group" : null), drawn: (n) => (status.textContent = say("rows_shown", { n })) });
  scoreControls(table, status, (row) => [row.name, row.metric.name, ...row.words].join(" "));
  return table.element;
}

/** A task or group, and its metric below. */
function taskName(row) {
  const metric = make("span", { class: "interval" }, metricName(row.metric));
  if (row.group) return make("span", {}, foreign(row.name), make("span", { class: "version" }, ` ${say("group")}`), metric);
  return make("span", {}, make("a", { href: samplesLink(null, row.name) }, foreign(row.name)), metric);
}

function runColumn(run) {
  const found = (row) => row.entries[run].metric;
  const written = (metric) => (metric ? `${bareFour(metric.value, metric.unit)} ${metric.low === null ? "" : span(metric.low, metric.high, metric.unit)}`.trim() : "–");
  return {
    label: runLabel(run),
    plainLabel: RUNS[run].name,
    number: true,
    class: "of-run",
    value: (row) => found(row)?.value ?? null,
    show: (row) => {
      const metric = found(row);
      if (!metric) return make("span", { class: "none" }, "–");
      const note = [metric.low === null ? null : span(metric.low, metric.high, metric.unit), metric.failed ? `${say("failed")} ${metric.failed}` : null].filter(Boolean);
      const asked = row.notes[run] ? make("span", { class: "interval" }, row.notes[run]) : null;
      return make("span", {}, make("span", { class: row.best === run ? "best" : null }, score(metric.value, metric.unit)), make("span", { class: "interval" }, note.join(" · ")), asked);
    },
    plain: (row) => written(found(row)),
  };
}

/** One row for each metric of a task or group; `sides` has {metrics, chance, note} or null of each run. */
function metricRows(name, group, words, sides) {
  const names = [...new Set(sides.flatMap((side) => side?.metrics.map((metric) => metric.name) ?? []))];
  return names.map((metricName, at) => {
    const metrics = sides.map((side) => side?.metrics.find((metric) => metric.name === metricName) ?? null);
    const metric = metrics.find(Boolean);
    const entries = metrics.map((one, run) => ({ metric: one, chance: sides[run]?.chance ?? null, run }));
    // What was asked otherwise has its note, and none of it is the best.
    const alike = sides.every((side) => !side?.note);
    return { name, group, words, metric, entries, first: at === 0, best: alike ? bestOf(metrics, metric.up) : null, notes: notesOf(sides, metrics) };
  });
}

/** What sets each run's score apart: how it was asked, and its documents where others have more. */
function notesOf(sides, metrics) {
  const most = Math.max(...metrics.map((one) => one?.n ?? 0));
  return sides.map((side, run) => [side?.note, metrics[run] && metrics[run].n < most ? `n\u00a0=\u00a0${count(metrics[run].n)}` : null].filter(Boolean).join(" · ") || null);
}

/** The run with the best value; none where runs are equal. */
function bestOf(metrics, up) {
  const values = metrics.map((metric) => (metric?.value ?? null) === null ? null : (up ? 1 : -1) * metric.value);
  const known = values.filter((value) => value !== null);
  const highest = Math.max(...known);
  return known.length > 1 && known.filter((value) => value === highest).length === 1 ? values.indexOf(highest) : null;
}

function groupRows() {
  const ids = [...new Set(RUNS.flatMap((run) => run.groups.map((group) => group.id)))];
  return ids.flatMap((id) => {
    const groups = RUNS.map((run) => run.groups.find((group) => group.id === id) ?? null);
    return metricRows(id, true, [], groups.map((group, run) => group && { metrics: group.metrics, chance: groupChance(run, group) }));
  });
}

function taskRows() {
  return SUMMARY.aligned.flatMap((task) => {
    const cells = task.cells.map((id, run) => (id === null ? null : RUNS[run].cells[cellById(run, id)]));
    const known = cells.filter(Boolean);
    return metricRows(task.name, false, known.flatMap((cell) => [cell.id, cell.language]), cells.map((cell) => cell && { metrics: cell.metrics, chance: cell.samples?.chance, note: optionOf(cell, known) }));
  });
}

/** What tells a cell from the other runs' cells of its task: template, version or shots; null for nothing. */
export function optionOf(cell, others) {
  const varies = (name) => new Set(others.map((one) => one[name])).size > 1;
  return [varies("version") ? cell.version : null, varies("template") ? cell.template : null, varies("shots") ? say("shots_of", { n: cell.shots }) : null].filter(Boolean).join(", ") || null;
}
