// Several runs against one baseline: a row for each group and task, a column for each run.

import { foreign, make, say } from "./elements.js";
import { bare, interval, score, signed } from "./numbers.js";
import { RUNS, SUMMARY, cellById } from "./cells.js";
import { Table } from "./table.js";
import { pairOf, verdictOf } from "./pairs.js";
import { runLabel } from "./runs.js";
import { optionOf } from "./score_matrix.js";

/** The interval of a difference with signs, or the reason why there is none. */
export const signedInterval = (row) => (row.low === null || row.high === null ? interval(row) : `[${signed(row.low, differenceDigits(row))}, ${signed(row.high, differenceDigits(row))}]`);

export const differenceDigits = (row) => (row.unit === "%" ? 2 : 3);

/** The table; `address(run)` leads to one pair. */
export function compareGrid(baseline, address) {
  const others = RUNS.map((_, run) => run).filter((run) => run !== baseline);
  const pairs = new Map(others.map((run) => [run, pairOf(baseline, run)]));
  const rows = [...groupLines(baseline, pairs), ...taskLines(baseline, pairs)];
  return new Table(say("differences"), [
    { label: say("task"), class: "task", value: (row) => row.name, show: (row) => make("span", {}, foreign(row.name), row.group ? make("span", { class: "version" }, ` ${say("group")}`) : null, make("span", { class: "interval mono" }, foreign(row.metric))), plain: (row) => `${row.name} ${row.metric}` },
    { label: make("span", {}, runLabel(baseline), make("span", { class: "interval" }, say("baseline"))), plainLabel: RUNS[baseline].name, number: true, class: "of-run", value: (row) => row.value, show: (row) => score(row.value, row.unit), plain: (row) => bare(row.value, row.unit) },
    ...others.map((run) => otherColumn(run, address)),
  ], rows, { class: "scores matrix grid", hideCaption: true, rowClass: (row) => (row.group ? "group" : null) });
}

function otherColumn(run, address) {
  const found = (line) => line.scores.get(run);
  const text = (row) => `${signed(row.difference, differenceDigits(row))} ${signedInterval(row)}`;
  return {
    label: make("a", { href: address(run), class: "bare" }, runLabel(run)),
    plainLabel: RUNS[run].name,
    number: true,
    class: "of-run",
    value: null,
    show: (line) => {
      const row = found(line);
      if (!row) return make("span", { class: "none", title: line.reasons.get(run) ?? null }, line.reasons.has(run) ? say("not_compared") : "–");
      const verdict = verdictOf(row);
      const mark = verdict ? make("span", { class: `verdict ${verdict}` }, verdict === "better" ? "▲ " : "▼ ", make("span", { class: "off-screen" }, say(verdict))) : null;
      const asked = line.notes.get(run) ? make("span", { class: "interval" }, line.notes.get(run)) : null;
      return make("span", {}, mark, make("span", { class: verdict ? "best" : null }, signed(row.difference, differenceDigits(row))), make("span", { class: "interval", title: score(row.value.other, row.unit) }, signedInterval(row)), asked);
    },
    plain: (line) => (found(line) ? text(found(line)) : "–"),
  };
}

function taskLines(baseline, pairs) {
  return SUMMARY.aligned
    .filter((task) => task.cells[baseline] !== null)
    .map((task) => {
      const cellOf = (run) => RUNS[run].cells[cellById(run, task.cells[run])];
      const line = lineOf(task.name, cellOf(baseline).metrics[0], false, pairs, (pair) => pair.comparisons.find((row) => row.baseline.id === task.cells[baseline]), (pair) => pair.refused.find((one) => one.first === task.cells[baseline]));
      return line && { ...line, notes: new Map([...line.scores.keys()].map((run) => [run, optionOf(cellOf(run), [cellOf(baseline), cellOf(run)])])) };
    })
    .filter(Boolean);
}

function groupLines(baseline, pairs) {
  return RUNS[baseline].groups
    .map((group) => lineOf(group.id, group.metrics[0], true, pairs, (pair) => pair.groups.find((row) => row.baseline.id === group.id), (pair) => pair.refused.find((one) => one.first === group.id)))
    .filter(Boolean);
}

/** One line; null where no run can be compared with the baseline. */
function lineOf(name, own, group, pairs, scoreIn, refusedIn) {
  const known = [...pairs].filter(([, pair]) => pair);
  const scores = new Map(known.map(([run, pair]) => [run, scoreIn(pair)]).filter(([, row]) => row));
  const reasons = new Map(known.map(([run, pair]) => [run, refusedIn(pair)]).filter(([, one]) => one).map(([run, one]) => [run, one.reasons.join("\n")]));
  const first = [...scores.values()][0];
  if (!first && !reasons.size) return null;
  return { name, group, metric: first?.metric ?? own?.name ?? "–", unit: first?.unit ?? own?.unit ?? "", value: first?.value.baseline ?? own?.value ?? null, scores, reasons, notes: new Map() };
}
