// The leaderboard's table: models × columns in foldable sections, with heat, ranks and marks.

import { copyButton, foreign, make, say, scroller } from "./elements.js";
import { count, signed } from "./numbers.js";
import { asCsv, asLatex, asMarkdown } from "./table.js";
import { BoardNotes, heatOf, rankText, reasonText, writtenScore } from "./board_data.js";
import { BoardCard } from "./board_card.js";

const MOST_MODELS = 100;
const MOST_OPEN = 16;
const CELL_MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** A name that may be broken after its separators, and not inside `3-shot`. */
export function breakable(text) {
  const parts = String(text).split(/(\b\d+-shot\b)/);
  return make("span", { class: "foreign", dir: "auto" }, parts.flatMap((part, at) => (at % 2 ? [make("span", { class: "whole" }, part)] : separated(part))));
}

function separated(text) {
  return text.split(/(?<=[_/-])/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));
}

export class BoardTable {
  /** view: {by, sections, rows, query, change(values), heat: "score" | "gap"}. */
  constructor(board, view) {
    this.board = board;
    this.view = view;
    this.notes = new BoardNotes();
    this.card = new BoardCard(board);
    this.folded = this.foldedSections();
    this.columns = view.sections.flatMap((section) => (this.folded.has(section.name) ? [] : section.columns));
    this.rows = this.sorted();
    this.shown = view.query.get("all") ? this.rows : this.rows.slice(0, MOST_MODELS);
    this.body = make("tbody", {}, this.shown.map((row) => this.row(row)));
    this.body.querySelector("a.score")?.setAttribute("tabindex", "0");
    this.element = make("div", { class: "board-block" }, this.table(), this.more(), this.below());
    this.listen();
  }

  /** Sections that the address names, or the last ones of a very wide table. */
  foldedSections() {
    const named = this.view.query.get("folded");
    if (named !== null) return new Set(named.split("\n"));
    const found = new Set();
    let open = this.view.sections.reduce((sum, section) => sum + section.columns.length, 0);
    for (const section of this.view.sections.slice(1).reverse()) {
      if (open <= MOST_OPEN) break;
      found.add(section.name);
      open -= section.columns.length;
    }
    return found;
  }

  sorted() {
    const by = this.view.query.get("sort");
    if (by === null) return this.view.rows;
    const sign = this.view.query.get("down") ? -1 : 1;
    const key = (row) => (by === "name" ? this.board.models[row].name : this.board.cells[row][Number(by)]?.value ?? null);
    return [...this.view.rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true }));
    });
  }

  table() {
    const head = make("thead", {}, this.sectionRow(), this.columnRow());
    const label = say(`board_by_${this.view.by}`);
    return scroller(label, make("table", { class: "board" }, make("caption", { class: "off-screen" }, label), head, this.body));
  }

  sectionRow() {
    const cells = this.view.sections.map((section) => {
      const folded = this.folded.has(section.name);
      const button = make("button", { type: "button", class: "fold", "aria-expanded": String(!folded), title: say(folded ? "unfold_section" : "fold_section") }, make("span", { "aria-hidden": "true" }, folded ? "▸ " : "▾ "), breakable(section.title));
      button.addEventListener("click", () => this.fold(section.name));
      const facts = folded ? [say("columns_count", { n: section.columns.length })] : this.common(section);
      return make("th", { scope: "colgroup", colspan: folded ? 1 : section.columns.length, class: folded ? "section folded" : "section" }, button, facts.length ? make("span", { class: "note" }, ` ${facts.join(" · ")}`) : null);
    });
    return make("tr", { class: "sections" }, make("td", { class: "name" }), cells);
  }

  fold(name) {
    const folded = new Set(this.folded);
    if (!folded.delete(name)) folded.add(name);
    this.view.change({ folded: [...folded].join("\n") }, true);
  }

  /** What the header of a column says: template and shots unless its name does, metric, n. */
  facts(section, { at, label }) {
    const column = this.board.columns[at];
    const said = `${section.name} ${label}`.split(/[\s,]+/);
    const asked = column.kind === "group" ? [say("tasks_count", { n: column.members.length })] : [column.template, `${column.shots}-shot`].filter((part) => !said.includes(part));
    return [...asked, `${column.metric}${column.unit ? ` ${column.unit}` : ""} ${column.higher_is_better ? "↑" : "↓"}`, ...(column.n === null ? [] : [`n\u00a0=\u00a0${count(column.n)}`])];
  }

  common(section) {
    if (section.columns.length < 2) return [];
    const [first, ...others] = section.columns.map((one) => this.facts(section, one));
    return first.filter((fact) => others.every((facts) => facts.includes(fact)));
  }

  columnRow() {
    const cells = this.view.sections.flatMap((section) => {
      if (this.folded.has(section.name)) return [make("td", { class: "folded" })];
      const common = this.common(section);
      return section.columns.map((one, number) => this.columnHead(one, this.facts(section, one).filter((fact) => !common.includes(fact)), number === 0));
    });
    return make("tr", {}, this.sortHead("name", say("model"), "name"), cells);
  }

  columnHead({ at, label }, facts, begins) {
    const head = this.sortHead(String(at), breakable(label), begins ? "number begins" : "number");
    head.append(...facts.map((fact) => make("span", { class: "fact" }, fact)));
    return head;
  }

  sortHead(key, label, classes) {
    const sorted = this.view.query.get("sort") === key;
    const down = Boolean(this.view.query.get("down"));
    const order = sorted ? (down ? "descending" : "ascending") : "none";
    const best = key !== "name" && this.board.columns[Number(key)].higher_is_better;
    const button = make("button", { type: "button", class: "sort" }, label, make("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (down ? "▾" : "▴") : ""));
    button.addEventListener("click", () => this.view.change({ sort: key, down: (sorted ? !down : best) ? "1" : "" }, true));
    return make("th", { scope: "col", class: classes, "aria-sort": order }, button);
  }

  row(row) {
    const cells = this.view.sections.flatMap((section) => (this.folded.has(section.name) ? [make("td", { class: "folded" })] : section.columns.map(({ at }, number) => this.cell(row, at, number === 0))));
    return make("tr", {}, this.modelHead(row), cells);
  }

  modelHead(row) {
    const model = this.board.models[row];
    const history = this.board.history(row);
    const name = history ? make("a", { href: `#/history?${new URLSearchParams({ model: history.name })}`, title: say("history_of", { n: history.runs.length }) }, breakable(model.name)) : breakable(model.name);
    const tags = [...new Set(model.runs.flatMap((run) => run.tags))];
    return make("th", { scope: "row", class: "name", title: model.runs.map((run) => `${run.name} ${run.date}${run.note ? `: ${run.note}` : ""}`).join("\n") }, name, tags.map((tag) => [" ", make("span", { class: "tag" }, foreign(tag))]));
  }

  cell(row, at, begins) {
    const [cell, column] = [this.board.cells[row][at], this.board.columns[at]];
    const classes = ["number", begins ? "begins" : "", cell.best ? "best" : ""].join(" ");
    if (cell.value === null) return make("td", { class: `${classes} none`, title: reasonText(cell.missing) }, "–", make("sup", {}, this.notes.letter(cell.missing)));
    const marks = cell.differences.map((one) => this.notes.letter(`${one.kind}: ${one.text}`));
    const link = make("a", { class: "score", tabindex: "-1", href: this.board.documents(row, at), "data-row": row, "data-at": at }, writtenScore(cell.value, column));
    const made = make("td", { class: classes }, link, make("span", { class: "mark" }, cell.tied ? make("span", { title: say("tied") }, "=") : "", marks.length ? make("sup", { title: cell.differences.map((one) => reasonText(`${one.kind}: ${one.text}`)).join("\n") }, marks.join(",")) : ""), this.second(row, at));
    const heat = this.heat(cell, column);
    if (heat) made.style.background = heat;
    return made;
  }

  /** The small line: ranks, or by language the gap to English. */
  second(row, at) {
    const cell = this.board.cells[row][at];
    if (this.view.by === "languages") return make("span", { class: "rank" }, cell.gap === null || cell.gap === undefined ? "\u00a0" : signed(cell.gap, this.board.columns[at].unit ? 1 : 3));
    const best = this.board.best(at);
    const pair = best >= 0 && best !== row && cell.ranked ? this.board.pair(row, best, at) : null;
    const text = rankText(cell) || "\u00a0";
    return make("span", { class: "rank" }, pair ? make("a", { class: "bare", href: pair, tabindex: "-1", title: say("compare_with_best") }, text) : text);
  }

  heat(cell, column) {
    if (this.view.heat === "gap") {
      if (cell.gap === null || cell.gap === undefined || column.top === null) return null;
      const share = Math.min(1, Math.abs(cell.gap) / (column.top / 2));
      const colour = cell.gap < 0 === column.higher_is_better ? "--wrong" : "--right";
      return `color-mix(in srgb, var(${colour}) ${Math.round(38 * share)}%, transparent)`;
    }
    const share = heatOf(cell.value, column);
    return share === null ? null : `color-mix(in srgb, var(--accent) ${Math.round(38 * share)}%, transparent)`;
  }

  more() {
    if (this.shown.length === this.rows.length) return null;
    return make("p", {}, make("button", { type: "button", class: "quiet", onclick: () => this.view.change({ all: "1" }, true) }, say("show_all_models", { n: this.rows.length })));
  }

  /** Legend, letters, columns without ranks, runs that were not read. */
  below() {
    const cells = this.shown.flatMap((row) => this.columns.map(({ at }) => this.board.cells[row][at]));
    const letters = [...this.notes.letters].map(([text, letter]) => make("div", {}, make("dt", {}, letter), make("dd", {}, foreign(reasonText(text)))));
    const reasons = new Map();
    for (const { at } of this.columns) {
      const column = this.board.columns[at];
      if (column.reason !== null) reasons.set(column.reason, [...(reasons.get(column.reason) ?? []), this.board.nameOf(at)]);
    }
    return [
      make("div", { class: "board-legend note" }, this.scale(cells), make("p", {}, this.legend(cells).join(" "))),
      letters.length ? make("dl", { class: "letters note" }, letters) : null,
      [...reasons].map(([reason, ids]) => make("p", { class: "note" }, say("no_ranks"), " ", foreign(`${ids.join(", ")}: ${reasonText(reason)}`))),
      Object.entries(this.board.report.unread || {}).map(([name, why]) => make("p", { class: "caution" }, say("not_read"), " ", foreign(`${name}: ${why}`))),
      this.copies(),
    ];
  }

  scale(cells) {
    if (this.view.heat === "gap") return make("p", { class: "scale" }, say("scale_worse"), make("span", { class: "ramp gap", "aria-hidden": "true" }), say("scale_better"));
    const chance = this.columns.some(({ at }) => this.board.columns[at].chance !== null);
    return cells.some((cell) => cell.value !== null) ? make("p", { class: "scale" }, say(chance ? "scale_chance" : "scale_zero"), make("span", { class: "ramp", "aria-hidden": "true" }), say("scale_top")) : null;
  }

  legend(cells) {
    const hidden = this.board.models.length - this.view.rows.length;
    return [
      cells.some((cell) => cell.best) ? say("legend_best") : null,
      cells.some((cell) => cell.tied) ? say("legend_tied") : null,
      this.view.by !== "languages" && cells.some((cell) => cell.rank_low !== null) ? say("legend_ranks") : null,
      this.view.by === "languages" ? say("legend_gap") : null,
      cells.some((cell) => cell.differences.length) ? say("legend_marks") : null,
      hidden ? say("legend_hidden", { n: hidden }) : null,
    ].filter(Boolean);
  }

  copies() {
    const plain = () => [
      [{ label: say("model") }, ...this.columns.map(({ at }) => ({ label: this.board.columns[at].label, number: true }))],
      this.rows.map((row) => [this.board.models[row].name, ...this.columns.map(({ at }) => this.plain(row, at))]),
    ];
    return make("p", { class: "copies" }, say("copy_as"), " ", copyButton("Markdown", () => asMarkdown(...plain())), copyButton("LaTeX", () => asLatex(...plain())), copyButton("CSV", () => asCsv(...plain())));
  }

  plain(row, at) {
    const cell = this.board.cells[row][at];
    return [writtenScore(cell.value, this.board.columns[at]) + (cell.best ? "*" : cell.tied ? "=" : ""), rankText(cell)].filter(Boolean).join(" ");
  }

  listen() {
    const linkOf = (event) => event.target.closest?.("td")?.querySelector("a.score");
    const show = (link, delay) => this.card.show(link, Number(link.dataset.row), Number(link.dataset.at), delay);
    this.body.addEventListener("pointerover", (event) => {
      const link = linkOf(event);
      if (link && event.pointerType === "mouse" && !this.card.element.contains(event.target)) show(link, 180);
    });
    this.body.addEventListener("pointerleave", () => this.card.leave());
    this.body.addEventListener("click", (event) => {
      const link = linkOf(event);
      if (!link || this.card.element.contains(event.target)) return;
      // A finger cannot hover: its first tap opens the card.
      if (event.pointerType === "touch" || !event.target.closest("a")) {
        event.preventDefault();
        show(link, 0);
      }
    });
    this.body.addEventListener("focusin", (event) => !this.closed && event.target.matches("a.score:focus-visible") && show(event.target, 0));
    this.body.addEventListener("focusout", (event) => !this.body.contains(event.relatedTarget) && this.card.leave());
    this.body.addEventListener("keydown", (event) => this.key(event));
  }

  /** Arrows move from cell to cell; Tab leads into the card; Escape closes it. */
  key(event) {
    if (event.key === "Escape") {
      const inside = this.card.element.contains(document.activeElement);
      this.card.hide();
      // The focus goes back to the cell, and the card stays closed.
      this.closed = true;
      if (inside) this.card.link.focus();
      this.closed = false;
      return;
    }
    const move = CELL_MOVES[event.key];
    if (!move || !event.target.matches("a.score")) return;
    event.preventDefault();
    const grid = [...this.body.rows].map((row) => [...row.cells]);
    let y = grid.findIndex((row) => row.includes(event.target.closest("td")));
    let x = grid[y].indexOf(event.target.closest("td"));
    for (;;) {
      [y, x] = [y + move[0], x + move[1]];
      const next = grid[y]?.[x];
      if (!next || x === 0) return;
      const link = next.querySelector("a.score");
      if (link) {
        event.target.setAttribute("tabindex", "-1");
        link.setAttribute("tabindex", "0");
        link.focus();
        return;
      }
    }
  }
}
