// A virtual list: only the visible rows are in the document.

import { make } from "./elements.js";

export class Rows {
  /** draw(position) → element of one row; chosen(position) when the reader picks one. */
  constructor(label, height, draw, chosen) {
    this.height = height;
    this.drawRow = draw;
    this.chosen = chosen;
    this.length = 0;
    this.current = -1;
    this.drawn = new Map();
    this.space = make("div", { class: "rows-space" });
    this.element = make("div", { class: "rows", role: "listbox", tabindex: "0", "aria-label": label }, this.space);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.keys(event));
    this.element.addEventListener("click", (event) => {
      const row = event.target.closest("[data-position]");
      if (row) this.choose(Number(row.dataset.position));
    });
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** Set the number of rows and redraw the visible ones. */
  reset(length) {
    this.length = length;
    this.space.style.height = `${length * this.height}px`;
    this.drawn.clear();
    this.space.replaceChildren();
    this.element.removeAttribute("aria-activedescendant");
    this.draw();
  }

  draw() {
    const room = this.element.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.height) - 6);
    const last = Math.min(this.length, Math.ceil((this.element.scrollTop + room) / this.height) + 6);
    for (const [position, row] of this.drawn) {
      if (position < first || position >= last) {
        row.remove();
        this.drawn.delete(position);
      }
    }
    for (let position = first; position < last; position += 1) {
      if (this.drawn.has(position)) continue;
      const row = this.drawRow(position);
      row.id = `row-${position}`;
      row.dataset.position = position;
      row.setAttribute("role", "option");
      row.setAttribute("aria-setsize", this.length);
      row.setAttribute("aria-posinset", position + 1);
      row.setAttribute("aria-selected", String(position === this.current));
      row.style.transform = `translateY(${position * this.height}px)`;
      row.style.height = `${this.height}px`;
      this.drawn.set(position, row);
      this.space.append(row);
    }
  }

  /** Select a row and scroll it into view. */
  mark(position) {
    this.drawn.get(this.current)?.setAttribute("aria-selected", "false");
    this.current = position;
    if (position < 0) return;
    const top = position * this.height;
    const room = this.element.clientHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + this.height > this.element.scrollTop + room) this.element.scrollTop = top + this.height - room;
    this.draw();
    this.drawn.get(position)?.setAttribute("aria-selected", "true");
    this.element.setAttribute("aria-activedescendant", `row-${position}`);
  }

  choose(position) {
    if (position < 0 || position >= this.length) return;
    this.mark(position);
    this.chosen(position);
  }

  keys(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.choose(Math.min(this.length - 1, Math.max(0, this.current + moves[event.key])));
  }
}
