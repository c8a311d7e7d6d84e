// The overview: the headline and every score first, then figures, then how the runs were made.

import { foreign, make, say } from "./elements.js";
import { bare, bareFour, count, score, span } from "./numbers.js";
import { RUNS, chanceOf, groupChance, samplesLink } from "./cells.js";
import { Table } from "./table.js";
import { figure } from "./figure.js";
import { headline } from "./cards.js";
import { notices, runFacts, runsTable } from "./runs.js";
import { scoreControls } from "./score_controls.js";
import { scoreMatrix } from "./score_matrix.js";
import { metricName, weightingName, whisker } from "./whisker.js";

export function overviewView() {
  if (RUNS.length > 1) return [make("div", { class: "notices" }, notices()), scoreMatrix(), figure("scores"), runsTable()];
  const [run] = RUNS;
  return [
    make("div", { class: "notices" }, notices()),
    ...headline(0),
    scoreTable(run).element,
    figure("scores"),
    ...(run.groups.length ? [make("h2", {}, say("groups")), make("p", { class: "note" }, say("groups_note")), groupTable(run).element] : []),
    runFacts(run),
  ];
}

function scoreTable(run) {
  const rows = run.cells.filter((cell) => cell.role === "score").flatMap((cell) => cell.metrics.map((metric, m) => ({ cell, metric, first: m === 0, chance: chanceOf(metric, cell.samples?.chance) })));
  const chance = (row) => (row.chance === null ? "–" : bare(row.chance * (row.metric.unit === "%" ? 100 : 1), row.metric.unit));
  const columns = [
    { label: say("task"), class: "task", value: (row) => row.cell.id, show: (row) => make("a", { href: samplesLink(0, row.cell.id) }, foreign(row.cell.task), make("span", { class: "version" }, ` ${row.cell.version ?? ""}`)), plain: (row) => `${row.cell.task} ${row.cell.version ?? ""}` },
    { label: say("template"), value: (row) => row.cell.template, show: (row) => foreign(row.cell.template ?? "–"), plain: (row) => row.cell.template },
    { label: say("language"), class: "minor", value: (row) => row.cell.language, show: (row) => row.cell.language ?? "–", plain: (row) => row.cell.language },
    { label: say("shots"), number: true, class: "minor", value: (row) => row.cell.shots, show: (row) => String(row.cell.shots ?? "–"), plain: (row) => row.cell.shots },
    { label: "n", number: true, class: "minor", value: (row) => row.metric.n, show: (row) => count(row.metric.n), plain: (row) => row.metric.n },
    { label: say("metric"), class: "metric", value: (row) => row.metric.name, show: (row) => metricName(row.metric), plain: (row) => row.metric.name },
    { label: say("value"), number: true, class: "value", value: (row) => (row.metric.unit ? row.metric.value / 100 : row.metric.value), show: (row) => score(row.metric.value, row.metric.unit), plain: (row) => bareFour(row.metric.value, row.metric.unit) },
    { label: "", spoken: say("plot"), class: "plot", show: (row) => whisker(row.metric, row.chance) },
    { label: say("interval"), number: true, class: "interval minor", value: (row) => (row.metric.low === null ? null : (row.metric.high - row.metric.low) / (row.metric.unit ? 100 : 1)), show: (row) => span(row.metric.low, row.metric.high, row.metric.unit), plain: (row) => span(row.metric.low, row.metric.high, row.metric.unit) },
    rows.some((row) => row.chance !== null) ? { label: say("chance"), number: true, class: "interval minor", value: (row) => row.chance, show: chance, plain: chance } : null,
    { label: say("failed"), number: true, value: (row) => row.metric.failed, show: (row) => make("span", { class: row.metric.failed ? "some" : "none" }, count(row.metric.failed)), plain: (row) => row.metric.failed },
  ].filter(Boolean);
  const status = make("span", { class: "note", role: "status" });
  const table = new Table(say("scores_caption"), columns, rows, { class: "scores", hideCaption: true, drawn: (n) => (status.textContent = say("rows_shown", { n })) });
  scoreControls(table, status, (row) => [row.cell.id, row.cell.task, row.cell.template, row.cell.language, row.metric.name].join(" "));
  return table;
}

function groupTable(run) {
  const rows = run.groups.flatMap((group) => group.metrics.map((metric) => ({ group, metric })));
  return new Table(
    say("groups"),
    [
      { label: say("group"), value: (row) => row.group.id, show: (row) => foreign(row.group.id), plain: (row) => row.group.id },
      { label: say("tasks"), number: true, value: (row) => row.group.members.length, show: (row) => String(row.group.members.length), plain: (row) => row.group.members.length },
      { label: "n", number: true, class: "minor", value: (row) => row.metric.n, show: (row) => count(row.metric.n), plain: (row) => row.metric.n },
      { label: say("metric"), class: "metric", value: (row) => row.metric.name, show: (row) => metricName(row.metric), plain: (row) => row.metric.name },
      { label: say("value"), number: true, class: "value", value: (row) => row.metric.value, show: (row) => score(row.metric.value, row.metric.unit), plain: (row) => bareFour(row.metric.value, row.metric.unit) },
      { label: "", spoken: say("plot"), class: "plot", show: (row) => whisker(row.metric, groupChance(0, row.group)) },
      { label: say("interval"), number: true, class: "interval minor", value: (row) => row.metric.low, show: (row) => span(row.metric.low, row.metric.high, row.metric.unit), plain: (row) => span(row.metric.low, row.metric.high, row.metric.unit) },
      run.groups.some((group) => group.weighting) ? { label: say("weighting"), class: "minor", value: (row) => row.group.weighting, show: (row) => (row.group.weighting ? foreign(weightingName(row.group.weighting), null, "span") : ""), plain: (row) => weightingName(row.group.weighting) } : null,
      { label: say("mean_of_tasks"), number: true, value: (row) => row.metric.unweighted, show: (row) => bare(row.metric.unweighted, row.metric.unit), plain: (row) => bare(row.metric.unweighted, row.metric.unit) },
    ].filter(Boolean),
    rows,
    { class: "scores", hideCaption: true },
  );
}
