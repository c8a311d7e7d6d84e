// Comparison of runs: paired differences and the documents that changed.

import { foreign, make, say } from "./elements.js";
import { bare, count, interval, moment, probability, score, signed } from "./numbers.js";
import { RUNS, SUMMARY, runName } from "./cells.js";
import { Table } from "./table.js";
import { foldedFigure } from "./figure.js";
import { samplesLink } from "./overview.js";

/** The interval of a difference with signs, or the reason why there is none. */
const signedInterval = (row) => (row.low === null || row.high === null ? interval(row) : `[${signed(row.low, digits(row))}, ${signed(row.high, digits(row))}]`);

const digits = (row) => (row.unit === "%" ? 2 : 3);

/** A difference and its interval around zero, on a scale common to all rows. */
function balance(row, widest) {
  const at = (value) => `${50 + (50 * Math.max(-widest, Math.min(widest, value))) / widest}%`;
  const box = make("span", { class: "whisker balance", "aria-hidden": "true" });
  const zero = make("span", { class: "chance" });
  zero.style.insetInlineStart = "50%";
  box.append(zero);
  const scale = row.unit === "%" ? 100 : 1;
  if (row.low !== null && row.high !== null) {
    const line = make("span", { class: "line" });
    line.style.insetInlineStart = at(row.low / scale);
    line.style.width = `calc(${at(row.high / scale)} - ${at(row.low / scale)})`;
    box.append(line);
  }
  const dot = make("span", { class: "dot" });
  dot.style.insetInlineStart = at(row.difference / scale);
  box.append(dot);
  return box;
}

export function compareView() {
  const compared = SUMMARY.comparison;
  return [
    make("p", {}, say("compare_note")),
    make("ol", { class: "runs" }, RUNS.map((run, at) => make("li", {}, foreign(run.model), " ", make("span", { class: "note" }, foreign(runName(at), null, "span", { class: "mono" }), ` · ${moment(run.facts.date)}`)))),
    compared.error ? make("section", { class: "refused" }, make("p", { class: "caution" }, say("not_comparable")), make("pre", { class: "command" }, compared.error)) : null,
    ...(compared.comparisons?.length ? [differenceTable(compared, compared.comparisons, say("differences")).element, ...groupDifferenceTable(compared), foldedFigure("differences"), ...differing(compared), make("h2", {}, say("what_changed")), changes(compared)] : [sideTable().element]),
  ];
}

/** The groups of both runs, paired over the documents of all their tasks. */
function groupDifferenceTable(compared) {
  if (!compared.groups?.length) return [];
  return [make("h2", {}, say("groups")), make("p", { class: "note" }, say("group_differences_note")), differenceTable(compared, compared.groups, say("groups")).element];
}

function differenceTable(compared, rows, title) {
  const grouped = rows === compared.groups;
  const name = (row) => (row.baseline.id === row.other.id ? row.baseline.id : `${row.baseline.id} → ${row.other.id}`);
  const widest = Math.max(0.05, ...[...compared.comparisons, ...(compared.groups || [])].flatMap((row) => [row.low, row.high, row.difference].filter((one) => one !== null).map((one) => Math.abs(one) / (row.unit === "%" ? 100 : 1))));
  return new Table(title, [
    { label: say(grouped ? "group" : "task"), class: "task", value: (row) => row.baseline.id, show: (row) => (grouped ? [foreign(name(row)), make("span", { class: "note" }, ` ${row.weighting}`)] : make("a", { href: samplesLink(row.other.run, row.other.id, { state: "changed" }) }, foreign(name(row)))), plain: (row) => row.baseline.id },
    { label: say("runs_pair"), value: (row) => row.other.run, show: (row) => `${row.baseline.run + 1} → ${row.other.run + 1}`, plain: (row) => `${row.baseline.run + 1} → ${row.other.run + 1}` },
    { label: say("metric"), value: (row) => row.metric, show: (row) => foreign(row.metric, null, "span", { class: "mono" }), plain: (row) => row.metric },
    { label: "n", number: true, value: (row) => row.n, show: (row) => count(row.n), plain: (row) => row.n },
    { label: say("before"), number: true, value: (row) => row.value.baseline, show: (row) => score(row.value.baseline, row.unit), plain: (row) => bare(row.value.baseline, row.unit) },
    { label: say("after"), number: true, value: (row) => row.value.other, show: (row) => score(row.value.other, row.unit), plain: (row) => bare(row.value.other, row.unit) },
    { label: say("difference"), number: true, class: "value", value: (row) => row.difference, show: (row) => signed(row.difference, digits(row)), plain: (row) => signed(row.difference, digits(row)) },
    { label: "", spoken: say("plot"), class: "plot", show: (row) => balance(row, widest) },
    { label: say("interval"), number: true, class: "interval", show: signedInterval, plain: signedInterval },
    { label: say("won_lost"), number: true, value: (row) => row.wins - row.losses, show: (row) => `${row.wins} : ${row.losses}`, plain: (row) => `${row.wins} : ${row.losses}` },
    { label: "p", number: true, value: (row) => row.p_value, show: (row) => probability(row.p_value), plain: (row) => probability(row.p_value) },
    { label: say("p_holm"), number: true, value: (row) => row.p_holm, show: (row) => probability(row.p_holm), plain: (row) => probability(row.p_holm) },
  ], rows, { class: "scores", hideCaption: true });
}

/** Other differences between the runs, and tasks that were not compared. */
function differing(compared) {
  const lines = [...new Set(compared.comparisons.flatMap((row) => (row.differences || []).map((one) => `${one.kind}: ${one.text}`)))];
  for (const [name, ids] of Object.entries(compared.unmatched || {})) lines.push(`${name}: ${say("only_here")} ${ids.join(", ")}`);
  return lines.length ? [make("ul", { class: "warnings" }, lines.map((line) => make("li", {}, foreign(line))))] : [];
}

function changes(compared) {
  const rows = compared.comparisons.flatMap((row) => (row.changes || []).map((change) => ({ row, change }))).slice(0, 500);
  return rows.length ? changeTable(rows).element : make("p", {}, say("nothing_changed"));
}

function changeTable(rows) {
  const answer = (side) => (side.answer === null ? make("span", { class: "none" }, say("nothing_read")) : foreign(side.answer));
  return new Table(say("what_changed"), [
    { label: say("sample"), value: (one) => one.change.document, show: (one) => make("a", { href: samplesLink(one.row.other.run, one.row.other.id, { doc: one.change.document }) }, foreign(one.change.document, null, "span", { class: "mono" })), plain: (one) => one.change.document },
    { label: say("task"), value: (one) => one.row.baseline.id, show: (one) => foreign(one.row.baseline.id), plain: (one) => one.row.baseline.id },
    { label: "", spoken: say("direction"), show: (one) => make("span", { class: `state ${one.change.better ? "state-r" : "state-w"}` }, one.change.better ? say("better") : say("worse")), plain: (one) => (one.change.better ? "+" : "-") },
    { label: say("gold"), show: (one) => foreign(one.change.target), plain: (one) => one.change.target },
    { label: say("before"), show: (one) => answer(one.change.baseline), plain: (one) => one.change.baseline.answer ?? "" },
    { label: say("after"), show: (one) => answer(one.change.other), plain: (one) => one.change.other.answer ?? "" },
  ], rows, { hideCaption: true });
}

/** The first metric of each task in every run, if nothing could be paired. */
function sideTable() {
  const ids = [...new Set(RUNS.flatMap((run) => run.cells.map((cell) => cell.id)))];
  const first = (run, id) => run.cells.find((cell) => cell.id === id)?.metrics[0];
  return new Table(say("side_by_side"), [
    { label: say("task"), value: (id) => id, show: (id) => foreign(id), plain: (id) => id },
    ...RUNS.map((run, at) => ({ label: String(at + 1), number: true, value: (id) => first(run, id)?.value ?? null, show: (id) => { const metric = first(run, id); return metric ? score(metric.value, metric.unit) : "–"; }, plain: (id) => first(run, id)?.value ?? "" })),
  ], ids, {});
}
