// The card of a cell: what it says in full, and where it leads.

import { fill, foreign, make, say } from "./elements.js";
import { count, moment, probability, signed } from "./numbers.js";
import { rankText, reasonText, writtenScore } from "./board_data.js";

const MOST_MEMBERS = 16;

/** `p = 0.012`, or `p < 0.001`. */
function pText(value) {
  return value !== null && value < 0.001 ? `p ${probability(value)}` : `p = ${probability(value)}`;
}

export class BoardCard {
  constructor(board) {
    this.board = board;
    this.element = make("div", { class: "board-card", popover: "manual", role: "group" });
    this.waiting = 0;
    this.element.addEventListener("pointerenter", () => clearTimeout(this.waiting));
    this.element.addEventListener("pointerleave", () => this.leave());
  }

  /** Show the card of a cell beside its link, at once or after a moment. */
  show(link, row, at, delay = 0) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      if (!link.isConnected) return;
      fill(this.element, this.content(row, at));
      this.element.setAttribute("aria-label", say("card_of", { model: this.board.models[row].name, column: this.board.columns[at].label }));
      link.after(this.element);
      if (!this.element.matches(":popover-open")) this.element.showPopover();
      this.put(link.closest("td").getBoundingClientRect());
      this.link = link;
    }, delay);
  }

  /** Below the cell, or above it where there is more room, and within the window. */
  put(cell) {
    const [width, height] = [this.element.offsetWidth, this.element.offsetHeight];
    const below = cell.bottom + height < innerHeight || cell.top < height;
    this.element.style.left = `${Math.max(8, Math.min(cell.left, document.documentElement.clientWidth - width - 8))}px`;
    this.element.style.top = `${below ? Math.min(cell.bottom, Math.max(8, innerHeight - height - 8)) : cell.top - height}px`;
  }

  leave(delay = 250) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.hide(), delay);
  }

  hide() {
    clearTimeout(this.waiting);
    if (this.element.matches(":popover-open")) this.element.hidePopover();
  }

  content(row, at) {
    const { board } = this;
    const [column, cell, model] = [board.columns[at], board.cells[row][at], board.models[row]];
    const run = board.run(row, cell);
    return [
      make("p", { class: "card-title" }, foreign(model.name), " · ", foreign(column.id), " ", make("span", { class: "mono" }, foreign(column.metric))),
      make("p", { class: "card-value" }, make("strong", {}, writtenScore(cell.value, column), column.unit ? ` ${column.unit}` : ""), cell.low === null ? null : ` [${writtenScore(cell.low, column)}, ${writtenScore(cell.high, column)}]`, make("span", { class: "note" }, ` n = ${count(cell.n)}`)),
      make("ul", { class: "card-facts" }, this.facts(row, at).map((line) => make("li", {}, line))),
      make("p", { class: "card-links" }, ...this.links(row, at)),
      make("p", { class: "note" }, foreign(run.name, null, "span", { class: "mono" }), ` · ${moment(run.date)}`, run.tags.map((tag) => [" ", make("span", { class: "tag" }, foreign(tag))]), run.note ? [make("br"), foreign(run.note)] : null),
    ];
  }

  /** What the comparison with the other models says. */
  facts(row, at) {
    const { board } = this;
    const [column, cell] = [board.columns[at], board.cells[row][at]];
    const lines = cell.differences.map((one) => foreign(reasonText(`${one.kind}: ${one.text}`)));
    if (cell.differences.length && !cell.ranked) lines.push(say("card_not_ranked"));
    if (cell.ranked && cell.n !== column.n) lines.push(say("card_shared", { value: writtenScore(cell.shared_value, column), n: count(column.n) }));
    if (rankText(cell)) lines.push(say("card_ranks", { ranks: rankText(cell), n: board.cells.filter((cells) => cells[at].ranked).length }));
    if (cell.best) lines.push(say("card_best"));
    else if (cell.ranked) {
      const best = board.models[board.best(at)].name;
      lines.push(say(cell.tied ? "card_tied" : "card_behind", { best, p: pText(cell.p_value) }));
    }
    if (cell.gap !== null && cell.gap !== undefined) lines.push(say("card_gap", { gap: signed(cell.gap, column.unit ? 1 : 3) }));
    return lines;
  }

  links(row, at) {
    const { board } = this;
    const column = board.columns[at];
    const best = board.best(at);
    const pair = best >= 0 && best !== row ? board.pair(row, best, at) : null;
    const to = (href, text) => make("a", { href, class: "button" }, text);
    if (column.kind === "task") return [to(board.documents(row, at), say("documents")), " ", to(board.prompt(row, at), say("prompt")), " ", pair ? to(pair, say("compare_with_best")) : null];
    const members = column.members.slice(0, MOST_MEMBERS).map((id, number) => [number ? say("list_comma") : "", make("a", { href: board.documents(row, at, id) }, foreign(id))]);
    const more = column.members.length > MOST_MEMBERS ? say("list_comma") + "…" : null;
    return [say("documents"), ": ", ...members, more, pair ? make("br") : null, pair ? to(pair, say("compare_with_best")) : null];
  }
}
