// Languages across, tasks down: the score of each, as a heat map.

import { foreign, make, say, scroller } from "./elements.js";
import { bare, span } from "./numbers.js";
import { RUNS, chanceOf, samplesLink, shadeOf } from "./cells.js";
import { runLabel } from "./runs.js";
import { metricName } from "./whisker.js";

const FEWEST = 3;

/** Rows of the map: {run, name, metric, cells by language}; one for each family of tasks and run. */
export function languageMaps() {
  return RUNS.flatMap((run, at) => {
    const families = new Map();
    for (const cell of run.cells) {
      if (cell.role !== "score" || !cell.language || !cell.metrics.length) continue;
      const name = familyOf(cell);
      if (!families.has(name)) families.set(name, new Map());
      // Several templates of a task would need several rows: the matrix of a sweep shows them.
      if (!families.get(name).has(cell.language)) families.get(name).set(cell.language, cell);
    }
    return [...families].filter(([, cells]) => cells.size >= FEWEST).map(([name, cells]) => ({ run: at, name, cells }));
  });
}

/** A task without its language, such as `mlogiqa_mcq` for `mlogiqa_mcq_ja`. */
function familyOf(cell) {
  const end = `_${cell.language}`;
  return cell.task.toLowerCase().endsWith(end.toLowerCase()) ? cell.task.slice(0, -end.length) : (cell.family ?? cell.task);
}

export function mapTable(rows) {
  const languages = [...new Set(rows.flatMap((row) => [...row.cells.keys()]))];
  const several = RUNS.length > 1;
  return make(
    "figure",
    { class: "matrix-figure" },
    scroller(
      say("language_map"),
      make(
        "table",
        { class: "heat map" },
        make("caption", { class: "off-screen" }, say("language_map")),
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, say("task")), several ? make("th", { scope: "col" }, say("run")) : null, languages.map((one) => make("th", { scope: "col", class: "number" }, foreign(one))))),
        make("tbody", {}, rows.map((row) => mapRow(row, languages, several))),
      ),
    ),
    make("figcaption", {}, say("language_map"), say("full_stop"), make("span", { class: "note" }, say("language_map_note"))),
  );
}

function mapRow(row, languages, several) {
  const first = [...row.cells.values()][0];
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, foreign(row.name), make("span", { class: "interval" }, metricName(first.metrics[0]))),
    several ? make("td", { class: "start" }, runLabel(row.run)) : null,
    languages.map((language) => (row.cells.has(language) ? mapCell(row, row.cells.get(language)) : make("td", { class: "none" }, "–"))),
  );
}

function mapCell(row, cell) {
  const [metric] = cell.metrics;
  const made = make("td", {}, make("a", { class: "bare", href: samplesLink(row.run, cell.id) }, bare(metric.value, metric.unit)), make("span", { class: "interval" }, span(metric.low, metric.high, metric.unit)));
  const share = shadeOf(metric, chanceOf(metric, cell.samples?.chance));
  if (share !== null) made.style.background = `color-mix(in srgb, var(--accent) ${Math.round(45 * share)}%, transparent)`;
  return made;
}
