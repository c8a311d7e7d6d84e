// Any two columns of the leaderboard against each other, with the interval of every score.

import { foreign, make, say, scroller } from "./elements.js";
import { Table } from "./table.js";
import { writtenScore } from "./board_data.js";
import { breakable } from "./board_table.js";

const SVG_SPACE = "http://www.w3.org/2000/svg";
const [PLOT_WIDTH, PLOT_HEIGHT] = [640, 440];
const PLOT_EDGE = { left: 62, right: 20, top: 14, bottom: 46 };

/** An SVG element with attributes and children. */
export function svgElement(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG_SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

/** A linear axis over the values given, a little wider, with round steps. */
export function linearAxis(values, from, to) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  [low, high] = [low - room, high + room];
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(Number(at.toPrecision(12)));
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return { place: (value) => from + ((value - low) / (high - low)) * (to - from), ticks, text: (value) => value.toFixed(digits) };
}

/** sections: the columns that the filters leave; change(values) writes the address. */
export function scatterView(board, rows, sections, query, change) {
  const columns = sections.flatMap((section) => section.columns.map((one) => ({ ...one, name: `${section.title} · ${one.label}` })));
  const chosen = (name, otherwise) => columns.find((one) => String(one.at) === query.get(name)) ?? columns[Math.min(otherwise, columns.length - 1)];
  const [x, y] = [chosen("x", 0), chosen("y", 1)];
  const pick = (name, own) => {
    const field = make("select", { id: `scatter-${name}` }, columns.map((one) => make("option", { value: one.at, selected: one === own }, one.name)));
    field.addEventListener("change", () => {
      change({ [name]: field.value });
      document.getElementById(`scatter-${name}`)?.focus();
    });
    return make("label", {}, say(`scatter_${name}`), " ", field);
  };
  const points = rows.map((row) => ({ row, name: board.models[row].name, x: board.cells[row][x.at], y: board.cells[row][y.at] })).filter((point) => point.x.value !== null && point.y.value !== null);
  return [
    make("div", { class: "controls" }, pick("x", x), pick("y", y)),
    points.length ? scroller(say("board_tab_scatter"), scatterFigure(board, points, x, y)) : make("p", { class: "nothing" }, say("scatter_nothing")),
    make("p", { class: "note" }, say("scatter_note")),
    points.length ? scatterTable(board, points, x, y).element : null,
  ];
}

const intervalEnds = (cell) => [cell.low ?? cell.value, cell.high ?? cell.value];

function scatterFigure(board, points, x, y) {
  const across = linearAxis(points.flatMap((point) => intervalEnds(point.x)), PLOT_EDGE.left, PLOT_WIDTH - PLOT_EDGE.right);
  const up = linearAxis(points.flatMap((point) => intervalEnds(point.y)), PLOT_HEIGHT - PLOT_EDGE.bottom, PLOT_EDGE.top);
  const name = (one) => `${one.name} (${board.columns[one.at].metric})`;
  return svgElement(
    "svg",
    { class: "scatter", viewBox: `0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`, width: PLOT_WIDTH, height: PLOT_HEIGHT, role: "img", "aria-label": say("scatter_label", { x: name(x), y: name(y), n: points.length }) },
    across.ticks.map((tick) => [svgElement("line", { class: "grid", x1: across.place(tick), x2: across.place(tick), y1: PLOT_EDGE.top, y2: PLOT_HEIGHT - PLOT_EDGE.bottom }), svgElement("text", { x: across.place(tick), y: PLOT_HEIGHT - PLOT_EDGE.bottom + 17, "text-anchor": "middle" }, across.text(tick))]).flat(),
    up.ticks.map((tick) => [svgElement("line", { class: "grid", x1: PLOT_EDGE.left, x2: PLOT_WIDTH - PLOT_EDGE.right, y1: up.place(tick), y2: up.place(tick) }), svgElement("text", { x: PLOT_EDGE.left - 8, y: up.place(tick) + 4, "text-anchor": "end" }, up.text(tick))]).flat(),
    svgElement("text", { class: "axis", x: (PLOT_EDGE.left + PLOT_WIDTH - PLOT_EDGE.right) / 2, y: PLOT_HEIGHT - 8, "text-anchor": "middle" }, name(x)),
    svgElement("text", { class: "axis", x: 14, y: (PLOT_EDGE.top + PLOT_HEIGHT - PLOT_EDGE.bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(PLOT_EDGE.top + PLOT_HEIGHT - PLOT_EDGE.bottom) / 2})` }, name(y)),
    points.map((point) => scatterPoint(point, across, up)),
    scatterLabels(points, across, up),
  );
}

function scatterPoint(point, across, up) {
  const [left, right] = intervalEnds(point.x).map(across.place);
  const [bottom, top] = intervalEnds(point.y).map(up.place);
  const [cx, cy] = [across.place(point.x.value), up.place(point.y.value)];
  return svgElement("g", { class: "point" }, svgElement("line", { x1: left, x2: right, y1: cy, y2: cy }), svgElement("line", { x1: cx, x2: cx, y1: bottom, y2: top }), svgElement("circle", { cx, cy, r: 4.5 }), svgElement("title", {}, point.name));
}

/** Names beside their points, moved down until they do not cover each other. */
function scatterLabels(points, across, up) {
  const taken = [];
  return [...points].sort((a, b) => up.place(a.y.value) - up.place(b.y.value)).map((point) => {
    const cx = across.place(point.x.value);
    const width = 6.6 * point.name.length;
    const left = cx + 8 + width > PLOT_WIDTH - 4 ? cx - 8 - width : cx + 8;
    let cy = up.place(point.y.value) - 5;
    while (taken.some((one) => Math.abs(one.cy - cy) < 13 && left < one.left + one.width && one.left < left + width)) cy += 3;
    taken.push({ cy, left, width });
    return svgElement("text", { class: "name", x: left, y: cy }, point.name);
  });
}

function scatterTable(board, points, x, y) {
  const column = (one, key) => {
    const about = board.columns[one.at];
    const text = (cell) => `${writtenScore(cell.value, about)} [${writtenScore(cell.low, about)}, ${writtenScore(cell.high, about)}]`;
    return { label: one.name, number: true, value: (point) => point[key].value, show: (point) => text(point[key]), plain: (point) => text(point[key]) };
  };
  return new Table(say("board_tab_scatter"), [{ label: say("model"), value: (point) => point.name, show: (point) => breakable(point.name), plain: (point) => point.name }, column(x, "x"), column(y, "y")], points, { hideCaption: true });
}
