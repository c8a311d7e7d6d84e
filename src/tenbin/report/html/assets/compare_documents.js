// The documents behind a difference: how many both runs, one or none answered correctly, and which changed.

import { fill, foreign, make, say, scroller } from "./elements.js";
import { count, percent } from "./numbers.js";
import { RUNS, SUMMARY, cellById, indexOf, placeOf, runName, samplesLink, statesOf } from "./cells.js";
import { Table } from "./table.js";
import { runLabel } from "./runs.js";

const MOST_ROWS = 500;
/** Columns of the counts: their key in messages, and the filter that shows them. */
const KINDS = [["both_right", "both_right"], ["only_a", "only_a"], ["only_b", "only_b"], ["none_right", "both_wrong"]];

/** For each task: documents that both, one or none got right; each count leads to its documents. */
export function documentCounts(pair) {
  const place = make("div", { class: "document-counts" });
  const tasks = SUMMARY.aligned.filter((task) => pair.comparisons.some((row) => row.baseline.id === task.cells[pair.baseline]));
  (async () => {
    const rows = await Promise.all(tasks.map(async (task) => ({ task, ...(await countTask(task, pair)) })));
    fill(place, countTable(pair, rows));
  })();
  return place;
}

async function countTask(task, pair) {
  const cells = [pair.baseline, pair.other].map((run) => [run, cellById(run, task.cells[run])]);
  const [mine, theirs] = await Promise.all(cells.map(([run, cell]) => indexOf(run, cell)));
  const metric = pair.comparisons.find((row) => row.baseline.id === task.cells[pair.baseline])?.metric;
  const [before, after] = [statesOf(mine, metric), statesOf(theirs, metric)];
  const found = { both_right: 0, only_a: 0, only_b: 0, none_right: 0, shared: 0 };
  mine.document.forEach((id, at) => {
    const there = placeOf(theirs, "document", id);
    if (there === undefined) return;
    found.shared += 1;
    const [a, b] = [before[at] === "r", after[there] === "r"];
    found[a && b ? "both_right" : a ? "only_a" : b ? "only_b" : "none_right"] += 1;
  });
  return { metric, found };
}

function countTable(pair, rows) {
  const cell = (row, key, state) => {
    const link = samplesLink(null, row.task.name, { state, a: runName(pair.baseline), b: runName(pair.other), ...(row.metric ? { metric: row.metric } : {}) });
    const made = make("td", { class: "number" }, make("a", { href: link }, count(row.found[key])), make("span", { class: "interval" }, ` ${percent(row.found.shared ? row.found[key] / row.found.shared : 0)}`));
    return made;
  };
  const heads = [say("both_right"), onlyIn(pair.baseline), onlyIn(pair.other), say("none_right")];
  return scroller(
    say("documents_by_result"),
    make(
      "table",
      { class: "counts" },
      make("caption", {}, say("documents_by_result")),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, say("task")), heads.map((head) => make("th", { scope: "col", class: "number" }, head)), make("th", { scope: "col", class: "plot" }, make("span", { class: "off-screen" }, say("plot"))))),
      make("tbody", {}, rows.map((row) => make("tr", {}, make("th", { scope: "row" }, foreign(row.task.name)), KINDS.map(([key, state]) => cell(row, key, state)), make("td", { class: "plot" }, stacked(row.found))))),
    ),
  );
}

/** `Correct only in …`, with the run's name and colour where the language puts them. */
function onlyIn(run) {
  const [before, after] = say("only_right_in", { run: "\0" }).split("\0");
  return [before, runLabel(run), after];
}

/** The four counts as parts of one bar. */
function stacked(found) {
  const bar = make("span", { class: "stacked", "aria-hidden": "true" });
  for (const [key] of KINDS) {
    const part = make("span", { class: `part-${key}` });
    part.style.width = `${(100 * found[key]) / Math.max(1, found.shared)}%`;
    bar.append(part);
  }
  return bar;
}

/** The documents that changed, the largest changes first, with both answers. */
export function changedDocuments(pair) {
  const place = make("div", { class: "changed-documents" });
  (async () => {
    const lists = await pair.changes();
    const rows = lists.flatMap((list, at) => list.map((change) => ({ row: pair.comparisons[at], change }))).slice(0, MOST_ROWS);
    fill(place, rows.length ? changeTable(pair, rows).element : make("p", {}, say("nothing_changed")));
  })();
  return place;
}

function changeTable(pair, rows) {
  const answer = (side) => (side.answer === null ? make("span", { class: "none" }, say("nothing_read")) : foreign(side.answer));
  const task = (row) => SUMMARY.aligned.find((one) => one.cells[pair.baseline] === row.baseline.id)?.name ?? row.baseline.id;
  const side = (run, key) => ({ label: runLabel(run), plainLabel: RUNS[run].name, show: (one) => answer(one.change[key]), plain: (one) => one.change[key].answer ?? "" });
  return new Table(say("what_changed"), [
    { label: say("sample"), value: (one) => one.change.document, show: (one) => make("a", { href: samplesLink(null, task(one.row), { doc: one.change.document, a: runName(pair.baseline), b: runName(pair.other) }) }, foreign(one.change.document, null, "span", { class: "mono" })), plain: (one) => one.change.document },
    { label: say("task"), value: (one) => one.row.baseline.id, show: (one) => foreign(task(one.row)), plain: (one) => task(one.row) },
    { label: say("direction"), value: (one) => Number(one.change.better), show: (one) => make("span", { class: `state ${one.change.better ? "state-r" : "state-w"}` }, one.change.better ? say("better") : say("worse")), plain: (one) => (one.change.better ? "+" : "-") },
    { label: say("gold"), show: (one) => foreign(one.change.target), plain: (one) => one.change.target },
    side(pair.baseline, "baseline"),
    side(pair.other, "other"),
  ], rows, { hideCaption: true, class: "changes" });
}
