// The history of a model: its runs by date with the score of each column, as a chart and a table.

import { fill, foreign, make, say, scroller } from "./elements.js";
import { moment } from "./numbers.js";
import { Board, writtenScore } from "./board_data.js";
import { followBoard } from "./board_source.js";
import { breakable } from "./board_table.js";
import { linearAxis, svgElement } from "./scatter.js";

const [HISTORY_WIDTH, HISTORY_HEIGHT, HISTORY_LEFT, HISTORY_BOTTOM] = [640, 240, 62, 34];

export function historyView(query, go) {
  const wanted = new URLSearchParams(query);
  const place = make("section", { class: "history" });
  const body = make("div");
  place.append(body);
  followBoard(place, (page) => fill(body, page.error ? make("p", { class: "caution" }, foreign(page.error)) : historyOf(new Board(page), wanted, go)));
  return [place];
}

function historyOf(board, wanted, go) {
  const known = board.page.histories;
  if (!known.length) return [make("p", { class: "note" }, say("no_history"))];
  const history = known.find((one) => one.name === wanted.get("model")) ?? known[0];
  const columns = [...new Set(history.runs.flatMap((run) => run.scores.map((score) => score.column)))].sort((a, b) => a - b);
  const chosen = columns.includes(Number(wanted.get("column") ?? NaN)) ? Number(wanted.get("column")) : mostScored(history, columns);
  const to = (values) => go(`#/history?${new URLSearchParams({ model: history.name, ...values })}`);
  const pick = make("select", { "aria-label": say("model") }, known.map((one) => make("option", { value: one.name, selected: one === history }, `${one.name} (${one.runs.length})`)));
  pick.addEventListener("change", () => to({ model: pick.value }));
  const column = make("select", { "aria-label": say("task") }, columns.map((at) => make("option", { value: at, selected: at === chosen }, `${board.columns[at].section} · ${board.columns[at].label}`)));
  column.addEventListener("change", () => to({ column: column.value }));
  return [
    make("p", {}, say("history_note")),
    make("div", { class: "controls" }, pick, columns.length ? column : null),
    columns.length ? scroller(say("view_history"), historyChart(board, history, chosen)) : null,
    historyTable(board, history, columns),
  ];
}

const historyScore = (run, column) => run.scores.find((score) => score.column === column);

/** The first of the columns that most runs have a score in. */
function mostScored(history, columns) {
  const runsWith = (at) => history.runs.filter((run) => historyScore(run, at)).length;
  return columns.reduce((best, at) => (runsWith(at) > runsWith(best) ? at : best), columns[0]);
}

/** The runs of one column from the oldest to the newest; a change of weights is a dashed line. */
function historyChart(board, history, column) {
  const runs = [...history.runs].reverse().map((run, at) => ({ run, at, score: historyScore(run, column) })).filter((one) => one.score);
  const up = linearAxis(runs.flatMap(({ score }) => [score.low ?? score.value, score.high ?? score.value]), HISTORY_HEIGHT - HISTORY_BOTTOM, 10);
  const across = (at) => HISTORY_LEFT + 20 + ((HISTORY_WIDTH - HISTORY_LEFT - 40) * at) / Math.max(1, history.runs.length - 1);
  const about = board.columns[column];
  const changed = runs.filter((one, at) => at && runs[at - 1].run.fingerprint !== one.run.fingerprint);
  const labelled = Math.ceil(runs.length / 6);
  return svgElement(
    "svg",
    { class: "scatter", viewBox: `0 0 ${HISTORY_WIDTH} ${HISTORY_HEIGHT}`, width: HISTORY_WIDTH, height: HISTORY_HEIGHT, role: "img", "aria-label": say("history_label", { model: history.name, column: about.label, n: runs.length }) },
    up.ticks.map((tick) => [svgElement("line", { class: "grid", x1: HISTORY_LEFT, x2: HISTORY_WIDTH, y1: up.place(tick), y2: up.place(tick) }), svgElement("text", { x: HISTORY_LEFT - 8, y: up.place(tick) + 4, "text-anchor": "end" }, up.text(tick))]).flat(),
    changed.map(({ at }) => svgElement("line", { class: "weights", x1: across(at - 0.5), x2: across(at - 0.5), y1: 10, y2: HISTORY_HEIGHT - HISTORY_BOTTOM })),
    runs.map(({ run, at, score }) => svgElement("g", { class: "point" }, svgElement("line", { x1: across(at), x2: across(at), y1: up.place(score.low ?? score.value), y2: up.place(score.high ?? score.value) }), svgElement("circle", { cx: across(at), cy: up.place(score.value), r: 4.5 }), svgElement("title", {}, `${run.name} ${writtenScore(score.value, about)}`))),
    runs.filter((_, number) => number % labelled === 0).map(({ run, at }) => svgElement("text", { x: across(at), y: HISTORY_HEIGHT - 12, "text-anchor": "middle" }, run.date.slice(0, 10))),
  );
}

function historyTable(board, history, columns) {
  const head = make("tr", {}, make("th", { scope: "col", class: "name" }, say("run")), make("th", { scope: "col" }, say("date")), columns.map((at) => make("th", { scope: "col", class: "number", title: board.columns[at].section }, breakable(board.columns[at].label), make("span", { class: "fact" }, board.columns[at].metric))));
  const rows = history.runs.map((run, at) => {
    const older = history.runs[at + 1];
    const changed = older && older.fingerprint !== run.fingerprint;
    const name = make("a", { href: board.within([run.name], (position) => `#/samples?${new URLSearchParams({ run: position + 1 })}`) }, breakable(run.name));
    const about = [run.tags.map((tag) => [" ", make("span", { class: "tag" }, foreign(tag))]), run.note ? make("span", { class: "fact" }, foreign(run.note)) : null, changed ? make("span", { class: "fact" }, say("other_weights")) : null];
    return make("tr", {}, make("th", { scope: "row", class: "name" }, name, about), make("td", {}, moment(run.date)), columns.map((column) => historyCell(historyScore(run, column), board.columns[column])));
  });
  return scroller(say("view_history"), make("table", { class: "board" }, make("caption", { class: "off-screen" }, say("view_history")), make("thead", {}, head), make("tbody", {}, rows)));
}

function historyCell(score, column) {
  if (!score) return make("td", { class: "number none" }, "–");
  const interval = score.low === null ? "" : `[${writtenScore(score.low, column)}, ${writtenScore(score.high, column)}]`;
  return make("td", { class: "number" }, writtenScore(score.value, column), make("span", { class: "rank" }, interval));
}
