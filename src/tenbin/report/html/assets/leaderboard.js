// The leaderboard: controls, and one of its views: by suite, languages, templates, or two columns.

import { announce, fill, foreign, make, say } from "./elements.js";
import { cellById, indexOf, samplesLink } from "./cells.js";
import { Board } from "./board_data.js";
import { followBoard } from "./board_source.js";
import { BoardTable } from "./board_table.js";
import { scatterView } from "./scatter.js";
import { figure } from "./figure.js";

export function leaderboardView(query, go) {
  const view = new LeaderboardView(new URLSearchParams(query), go);
  followBoard(view.element, (page, ranked) => view.show(page, ranked));
  return [view.element];
}

/** Goes on to the prompt of the first document of a cell. */
export function openPrompt(query, go) {
  const wanted = new URLSearchParams(query);
  const run = Math.max(1, Number(wanted.get("run")) || 1) - 1;
  const cell = cellById(run, wanted.get("task"));
  const open = (doc) => go(samplesLink(run, wanted.get("task"), doc === undefined ? {} : { doc }));
  if (cell < 0) open();
  else indexOf(run, cell).then((index) => open(index.document[0]));
}

class LeaderboardView {
  constructor(query, go) {
    this.query = query;
    this.go = go;
    this.tabs = make("div", { class: "board-tabs", role: "group", "aria-label": say("board_views") });
    this.controls = make("div", { class: "controls" });
    this.body = make("div");
    this.notice = make("p", { class: "note" });
    this.element = make("section", { class: "leaderboard" }, this.notice, this.tabs, this.controls, this.body);
  }

  show(page, ranked = true) {
    if (page.error) {
      fill(this.body, make("p", { class: "caution" }, say("no_leaderboard"), " ", foreign(page.error)));
      return;
    }
    this.board = new Board(page);
    this.ranked = ranked;
    // A reader who is typing keeps the field that has the focus.
    if (!this.controls.childElementCount || !this.controls.contains(document.activeElement)) this.drawControls();
    this.draw();
  }

  get by() {
    const wanted = this.query.get("by") ?? "suite";
    return this.views().includes(wanted) ? wanted : "suite";
  }

  views() {
    const { page } = this.board;
    return ["suite", page.languages.length ? "languages" : null, page.templates.length ? "templates" : null, this.board.columns.length > 1 ? "scatter" : null].filter(Boolean);
  }

  /** Write values into the address and draw; a value that is empty is left out. */
  change(values, focus = false) {
    for (const [name, value] of Object.entries(values)) {
      if (value === "" && name !== "folded") this.query.delete(name);
      else this.query.set(name, value);
    }
    this.go(`#/leaderboard?${this.query}`, false);
    const name = focus ? document.activeElement?.textContent : null;
    this.draw();
    // The button that was pressed is drawn anew.
    if (name) [...this.body.querySelectorAll("button")].find((button) => button.textContent.slice(1) === name.slice(1) || button.textContent === name)?.focus();
  }

  drawControls() {
    const names = { suite: "board_tab_suite", languages: "board_tab_languages", templates: "board_tab_templates", scatter: "board_tab_scatter" };
    fill(this.tabs, this.views().map((name) => make("button", { type: "button", class: "quiet", "aria-pressed": String(this.by === name), "data-by": name, onclick: () => this.turn(name) }, say(names[name]))));
    const { board } = this;
    fill(
      this.controls,
      this.words("model", say("filter_models")),
      this.words("task", say("filter_columns")),
      this.choice("language", say("all_languages"), board.values("language")),
      this.choice("template", say("all_templates"), board.values("template")),
      this.choice("shots", say("all_shots"), board.values("shots").map(String), (n) => say("shots_of", { n })),
      this.choice("tag", say("all_tags"), board.tags()),
      this.since(),
      this.by === "languages" ? this.shading() : null,
    );
  }

  turn(name) {
    this.query.delete("folded");
    this.change({ by: name === "suite" ? "" : name });
    this.drawControls();
    this.tabs.querySelector(`[data-by="${name}"]`).focus();
    announce(this.tabs.querySelector(`[data-by="${name}"]`).textContent);
  }

  words(name, label) {
    const field = make("input", { type: "search", placeholder: label, "aria-label": label, value: this.query.get(name) });
    let waiting = 0;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.change({ [name]: field.value }), 150);
    });
    return field;
  }

  choice(name, all, values, text = (value) => value) {
    if (values.length < 2 && !(name === "tag" && values.length)) return null;
    const field = make("select", { "aria-label": all }, [["", all], ...values.map((value) => [value, text(value)])].map(([value, shown]) => make("option", { value, selected: (this.query.get(name) ?? "") === value }, shown)));
    field.addEventListener("change", () => this.change({ [name]: field.value }));
    return field;
  }

  since() {
    const dates = new Set(this.board.models.flatMap((model) => model.runs.map((run) => run.date.slice(0, 10))));
    if (dates.size < 2) return null;
    const field = make("input", { type: "date", value: this.query.get("since") });
    field.addEventListener("change", () => this.change({ since: field.value }));
    return make("label", {}, say("run_since"), " ", field);
  }

  shading() {
    const field = make("select", { "aria-label": say("shade_by") }, ["score", "gap"].map((value) => make("option", { value, selected: this.heat === value }, say(`shade_${value}`))));
    field.addEventListener("change", () => this.change({ shade: field.value === "gap" ? "gap" : "" }));
    return field;
  }

  get heat() {
    return this.by === "languages" && this.query.get("shade") === "gap" ? "gap" : "score";
  }

  draw() {
    const { board, by, query } = this;
    const rows = board.rows(query);
    const sections = board.sections(by).map((section) => ({ ...section, columns: section.columns.filter(({ at }) => board.passes(at, query)) })).filter((section) => section.columns.length);
    fill(this.notice, this.ranked ? null : say("ranks_follow"));
    if (!rows.length || !sections.length) fill(this.body, make("p", { class: "nothing" }, say("nothing")));
    else if (by === "scatter") fill(this.body, scatterView(board, rows, sections, query, (values) => this.change(values)));
    else fill(this.body, new BoardTable(board, { by, sections, rows, query, heat: this.heat, change: (values, focus) => this.change(values, focus) }).element, by === "suite" ? figure("leaderboard") : null);
    document.documentElement.dataset.board = this.ranked ? "ranked" : "scores";
  }
}
