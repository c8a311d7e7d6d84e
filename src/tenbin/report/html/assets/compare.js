// Comparison of runs: a baseline against all others, or one pair with the documents behind it.

import { announce, fill, foreign, make, say } from "./elements.js";
import { bare, count, probability, score, signed } from "./numbers.js";
import { RUNS, SUMMARY, cellById, runName, runNamed, samplesLink } from "./cells.js";
import { weightingName } from "./whisker.js";
import { Table } from "./table.js";
import { figure } from "./figure.js";
import { compareGrid, differenceDigits, signedInterval } from "./compare_grid.js";
import { changedDocuments, documentCounts } from "./compare_documents.js";
import { pairOf, verdictOf, widestOf } from "./pairs.js";
import { runLabel, runSelect } from "./runs.js";

export function compareView(query, go) {
  const asked = new URLSearchParams(query);
  const state = { baseline: Math.max(0, runNamed(asked.get("base"))), other: runNamed(asked.get("with")) };
  if (RUNS.length === 2 || state.other === state.baseline) state.other = RUNS.length === 2 ? 1 - state.baseline : -1;
  const controls = make("div", { class: "controls pair-controls" });
  const place = make("div");
  const draw = () => {
    fill(controls, ...pairControls(state, change));
    fill(place, state.other < 0 ? allPart(state.baseline) : pairPart(state.baseline, state.other));
  };
  const change = (values) => {
    const before = state.baseline;
    Object.assign(state, values);
    // Who chooses the other run as the baseline turns the pair around.
    if (state.other === state.baseline) state.other = before;
    go(compareAddress(state.baseline, state.other), false);
    const focused = document.activeElement?.id;
    draw();
    if (focused) document.getElementById(focused)?.focus();
    announce(pairTitle(state));
  };
  draw();
  return [controls, place];
}

function compareAddress(baseline, other) {
  const names = { base: runName(baseline), ...(other < 0 ? {} : { with: runName(other) }) };
  return `#/compare?${new URLSearchParams(names)}`;
}

function pairTitle({ baseline, other }) {
  return other < 0 ? `${say("baseline")}: ${runName(baseline)}` : `${runName(baseline)} → ${runName(other)}`;
}

function pairControls(state, change) {
  const named = (run) => [runName(run), runName(run)];
  const every = RUNS.map((_, run) => run);
  const others = every.filter((run) => run !== state.baseline);
  const baselines = SUMMARY.comparison.every_pair ? every : [0];
  const all = RUNS.length > 2 ? [["", say("all_other_runs", { n: RUNS.length - 1 })]] : [];
  const label = (id, text, field) => make("label", { for: id }, text, " ", field);
  return [
    label("compare-base", say("baseline"), runSelect("compare-base", say("baseline"), baselines.map(named), runName(state.baseline), (name) => change({ baseline: runNamed(name) }))),
    label("compare-with", say("compared_with"), runSelect("compare-with", say("compared_with"), [...all, ...others.map(named)], state.other < 0 ? "" : runName(state.other), (name) => change({ other: name === "" ? -1 : runNamed(name) }))),
    state.other < 0 ? null : make("button", { type: "button", class: "quiet", id: "compare-turn", disabled: !SUMMARY.comparison.every_pair, onclick: () => change({ baseline: state.other, other: state.baseline }) }, say("turn_around")),
  ];
}

/** All other runs beside the baseline. */
function allPart(baseline) {
  const pairs = RUNS.map((_, run) => pairOf(baseline, run)).filter(Boolean);
  const shown = pairs.some((pair) => pair.comparisons.length || pair.groups.length);
  return [
    shown ? compareGrid(baseline, (run) => compareAddress(baseline, run)).element : null,
    make("p", { class: "note" }, say("compare_note"), " ", shown ? say("grid_note") : null),
    SUMMARY.comparison.every_pair ? null : make("p", { class: "note" }, say("first_run_only")),
    baseline === 0 ? figure("differences") : null,
    ...pairs.filter(refusedAny).map((pair) => make("section", {}, make("h2", {}, runLabel(baseline), " → ", runLabel(pair.other)), notCompared(pair))),
    shown ? null : sideTable().element,
  ];
}

const refusedAny = (pair) => pair.refused.length || pair.error || (!pair.comparisons.length && !pair.groups.length);

/** One pair: its differences, and the documents behind them. */
function pairPart(baseline, other) {
  const pair = pairOf(baseline, other);
  if (!pair) return [make("p", { class: "note" }, say("first_run_only"))];
  const rows = [...pair.groups.map((row) => ({ ...row, group: true })), ...pair.comparisons];
  const title = make("h2", { class: "pair-title" }, runLabel(baseline), make("span", { class: "arrow" }, " → "), runLabel(other));
  if (!rows.length) return [title, notCompared(pair), sideTable().element];
  return [
    title,
    differenceTable(pair, rows).element,
    make("p", { class: "note" }, say("compare_note"), " ", pair.groups.length ? say("group_differences_note") : null),
    ...differing(pair),
    refusedAny(pair) ? notCompared(pair) : null,
    pair.comparisons.length ? [make("h2", {}, say("what_changed")), documentCounts(pair), changedDocuments(pair)] : null,
  ];
}

function differenceTable(pair, rows) {
  const widest = widestOf(rows);
  const name = (row) => (row.group ? row.baseline.id : alignedName(pair, row));
  const ratio = (row) => `${row.wins} : ${row.losses}`;
  const side = (run, key) => ({ label: runLabel(run), plainLabel: runName(run), number: true, value: (row) => row.value[key], show: (row) => score(row.value[key], row.unit), plain: (row) => bare(row.value[key], row.unit) });
  const shown = (row) => {
    const verdict = verdictOf(row);
    return make("span", { class: verdict ? `verdict ${verdict}` : null }, verdict ? `${verdict === "better" ? "▲" : "▼"} ` : null, signed(row.difference, differenceDigits(row)));
  };
  return new Table(say("differences"), [
    { label: say("task"), class: "task", value: name, show: (row) => comparedName(pair, row), plain: (row) => `${name(row)} ${row.metric}` },
    { label: "n", number: true, class: "minor", value: (row) => row.n, show: (row) => count(row.n), plain: (row) => row.n },
    side(pair.baseline, "baseline"),
    side(pair.other, "other"),
    { label: say("difference"), number: true, class: "value", value: (row) => row.difference, show: shown, plain: (row) => signed(row.difference, differenceDigits(row)) },
    { label: "", spoken: say("plot"), class: "plot", show: (row) => balance(row, widest) },
    { label: say("interval"), number: true, class: "interval", show: signedInterval, plain: signedInterval },
    { label: say("won_lost"), number: true, class: "minor", value: (row) => row.wins - row.losses, show: ratio, plain: ratio },
    { label: "p", number: true, class: "minor", value: (row) => row.p_value, show: (row) => probability(row.p_value), plain: (row) => probability(row.p_value) },
    { label: say("p_holm"), number: true, value: (row) => row.p_holm, show: (row) => probability(row.p_holm), plain: (row) => probability(row.p_holm) },
  ], rows, { class: "scores pair", hideCaption: true, rowClass: (row) => (row.group ? "group" : null) });
}

/** A task, which leads to its changed documents, or a group; below, the metric and what the ids are. */
function comparedName(pair, row) {
  const below = [row.metric, row.group ? weightingName(row.weighting) : idsOf(row)].filter(Boolean).join(" · ");
  const link = samplesLink(null, alignedName(pair, row), { state: "changed", a: runName(pair.baseline), b: runName(pair.other) });
  const name = row.group ? [foreign(row.baseline.id), make("span", { class: "version" }, ` ${say("group")}`)] : make("a", { href: link }, foreign(alignedName(pair, row)));
  return make("span", {}, name, make("span", { class: "interval" }, foreign(below)));
}

/** What tells the cells of a task from each other, where they have different ids. */
function idsOf(row) {
  const [mine, theirs] = [row.baseline.id, row.other.id];
  if (mine === theirs) return null;
  let same = 0;
  while (mine[same] === theirs[same]) same += 1;
  const cut = mine.lastIndexOf("-", same - 1) + 1;
  return `${mine.slice(cut)} → ${theirs.slice(cut)}`;
}

/** The name under which a task of a pair stands side by side. */
export function alignedName(pair, row) {
  return SUMMARY.aligned.find((task) => task.cells[pair.baseline] === row.baseline.id)?.name ?? row.baseline.id;
}

/** A difference and its interval around zero, on a scale common to all rows. */
function balance(row, widest) {
  const place = (value) => 50 + (50 * Math.max(-widest, Math.min(widest, value))) / widest;
  const box = make("span", { class: "whisker balance", "aria-hidden": "true" });
  const mark = (kind, at) => {
    const made = make("span", { class: kind });
    made.style.insetInlineStart = `${at}%`;
    box.append(made);
    return made;
  };
  mark("chance", 50);
  const scale = row.unit === "%" ? 100 : 1;
  if (row.low !== null && row.high !== null) mark("line", place(row.low / scale)).style.width = `${place(row.high / scale) - place(row.low / scale)}%`;
  mark("dot", place(row.difference / scale));
  return box;
}

/** Other differences between the runs, and tasks that only one of them has. */
function differing(pair) {
  const lines = [...new Set(pair.comparisons.flatMap((row) => (row.differences || []).map((one) => `${one.kind}: ${one.text}`)))];
  const alone = [[pair.baseline, pair.onlyBaseline], [pair.other, pair.onlyOther]].filter(([, ids]) => ids.length);
  if (!lines.length && !alone.length) return [];
  return [make("ul", { class: "warnings" }, lines.map((line) => make("li", {}, foreign(line))), alone.map(([run, ids]) => make("li", {}, runLabel(run), ` ${say("only_here")} `, foreign(ids.join(", ")))))];
}

/** What is not comparable, and why. */
function notCompared(pair) {
  if (pair.error) return make("section", { class: "refused" }, make("p", { class: "caution" }, foreign(pair.error)));
  if (!pair.refused.length) return make("section", { class: "refused" }, make("p", { class: "caution" }, say("no_common_task")));
  return make("section", { class: "refused" }, make("p", { class: "caution" }, say("not_comparable")), make("ul", { class: "warnings" }, pair.refused.map((one) => make("li", {}, foreign(one.first === one.second ? one.first : `${one.first} → ${one.second}`, null, "strong"), make("ul", {}, one.reasons.map((reason) => make("li", {}, foreign(reason))))))));
}

/** The first metric of each task in every run, if nothing could be paired. */
function sideTable() {
  const first = (run, id) => (id === null ? undefined : RUNS[run].cells[cellById(run, id)]?.metrics[0]);
  return new Table(say("side_by_side"), [
    { label: say("task"), value: (task) => task.name, show: (task) => make("a", { href: samplesLink(null, task.name) }, foreign(task.name)), plain: (task) => task.name },
    ...RUNS.map((run, at) => ({ label: runLabel(at), plainLabel: run.name, number: true, value: (task) => first(at, task.cells[at])?.value ?? null, show: (task) => { const metric = first(at, task.cells[at]); return metric ? score(metric.value, metric.unit) : "–"; }, plain: (task) => first(at, task.cells[at])?.value ?? "" })),
  ], SUMMARY.aligned, {});
}
