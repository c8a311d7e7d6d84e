// A table with sorting, filtering and copies as Markdown, LaTeX or CSV.

import { copyButton, foreign, make, say, scroller } from "./elements.js";

/**
 * columns: {label, value(row) for sorting, show(row) → node or text, plain(row) for copies,
 * number: right-aligned, spoken: name for screen readers of a column without a label, plainLabel: name
 * in copies of a column whose label is a node}; columns without `plain` are not copied.
 */
export class Table {
  constructor(caption, columns, rows, options = {}) {
    this.columns = columns;
    this.rows = rows;
    this.options = options;
    this.sorting = null;
    /** Rows that are drawn at most; all of them are sorted and copied. */
    this.most = Infinity;
    this.body = make("tbody");
    this.head = make("tr");
    this.element = make(
      "div",
      { class: "table-block" },
      scroller(
        caption,
        make("table", { class: options.class }, make("caption", { class: options.hideCaption ? "off-screen" : null }, caption), make("thead", {}, this.head), this.body),
      ),
      options.copies === false ? null : this.copies(),
    );
    this.drawHead();
    this.draw();
  }

  drawHead() {
    this.head.replaceChildren(
      ...this.columns.map((column) => {
        const classes = [column.number ? "number" : "", column.class || ""].join(" ");
        if (!column.value) return make("th", { scope: "col", class: classes }, column.label || make("span", { class: "off-screen" }, column.spoken));
        const sorted = this.sorting?.column === column ? this.sorting.down : null;
        return make(
          "th",
          { scope: "col", class: classes, "aria-sort": sorted === null ? "none" : sorted ? "descending" : "ascending" },
          make("button", { type: "button", class: "sort", onclick: () => this.sort(column) }, column.label, make("span", { class: "arrow", "aria-hidden": "true" }, sorted === null ? "" : sorted ? "▾" : "▴")),
        );
      }),
    );
  }

  sort(column) {
    const down = this.sorting?.column === column ? !this.sorting.down : Boolean(column.number);
    this.sorting = { column, down };
    const at = this.columns.indexOf(column);
    this.drawHead();
    this.draw();
    this.head.children[at].querySelector("button").focus();
  }

  shown() {
    const rows = this.filter ? this.rows.filter(this.filter) : [...this.rows];
    if (!this.sorting) return rows;
    const { column, down } = this.sorting;
    const order = (a, b) => {
      const [x, y] = [column.value(a), column.value(b)];
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      return (typeof x === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true })) * (down ? -1 : 1);
    };
    return rows.sort(order);
  }

  draw() {
    const rows = this.shown().slice(0, this.most);
    this.body.replaceChildren(
      ...rows.map((row) =>
        make(
          "tr",
          { class: this.options.rowClass?.(row) },
          this.columns.map((column, at) => {
            const made = column.show(row);
            const content = typeof made === "string" ? (column.foreign ? foreign(made) : made) : made;
            return make(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, class: [column.number ? "number" : "", column.class || ""].join(" ") }, content);
          }),
        ),
      ),
    );
    if (!rows.length) this.body.append(make("tr", {}, make("td", { colspan: this.columns.length, class: "nothing" }, say("nothing"))));
    this.options.drawn?.(rows.length);
  }

  copies() {
    return make(
      "p",
      { class: "copies" },
      say("copy_as"),
      " ",
      copyButton("Markdown", () => asMarkdown(...this.plain())),
      copyButton("LaTeX", () => asLatex(...this.plain())),
      copyButton("CSV", () => asCsv(...this.plain())),
    );
  }

  plain() {
    const columns = this.columns.filter((column) => column.plain);
    return [columns, this.shown().map((row) => columns.map((column) => String(column.plain(row) ?? "")))];
  }
}

/** A column's name in copies. */
const headOf = (column) => column.plainLabel ?? column.label;

export function asMarkdown(columns, rows) {
  const safe = (text) => text.replace(/[\\|<>&`*_[\]]/g, "\\$&").replace(/\s+/g, " ");
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(columns.map((c) => safe(headOf(c)))), line(columns.map((c) => (c.number ? "---:" : "---"))), ...rows.map((row) => line(row.map(safe)))].join("\n") + "\n";
}

const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "–": "--", "−": "$-$", "\u202f": "\\," };

export function asLatex(columns, rows) {
  const safe = (text) => text.replace(/[\\~^–−\u202f]|[&%$#_{}]/g, (mark) => LATEX[mark] ?? `\\${mark}`).replace(/\s+/g, " ");
  const line = (cells) => `  ${cells.join(" & ")} \\\\`;
  return [
    `\\begin{tabular}{${columns.map((c) => (c.number ? "r" : "l")).join("")}}`,
    "  \\toprule",
    line(columns.map((c) => safe(headOf(c)))),
    "  \\midrule",
    ...rows.map((row) => line(row.map(safe))),
    "  \\bottomrule",
    "\\end{tabular}",
  ].join("\n") + "\n";
}

export function asCsv(columns, rows) {
  // A spreadsheet would evaluate a cell that starts like a formula.
  const guarded = (text) => (/^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text);
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [columns.map((c) => cell(headOf(c))), ...rows.map((row) => row.map((text) => cell(guarded(text))))].map((row) => row.join(",")).join("\r\n") + "\r\n";
}
