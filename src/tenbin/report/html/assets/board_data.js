// A leaderboard as views use it: rows, columns in sections, filters, and where links lead.

import { say } from "./elements.js";
import { SUMMARY, samplesLink } from "./cells.js";

export class Board {
  constructor(page) {
    this.page = page;
    this.report = page.report;
    this.models = page.report.models;
    this.columns = page.report.columns;
    this.cells = page.report.cells;
  }

  /** Sections with their columns: {name, columns: [{at, label}]}, by `suite`, `languages` or `templates`. */
  sections(by) {
    const listed = by === "languages" || by === "templates" ? this.page[by] : this.columns.map((column, at) => ({ column: at, section: column.section, label: column.label }));
    const found = new Map();
    for (const one of listed) {
      if (!found.has(one.section)) found.set(one.section, []);
      found.get(one.section).push({ at: one.column, label: one.label });
    }
    return [...found].map(([name, columns]) => ({ name, columns, title: this.sectionTitle(name, columns) }));
  }

  /** Sections that hold what no suite brought have names of the interface. */
  sectionTitle(name, columns) {
    if (columns.every(({ at }) => this.columns[at].kind === "group") && name === "groups") return say("groups");
    return name === "tasks" ? say("section_tasks") : name;
  }

  /** What a column is called outside its section: its id, with shots where columns share it. */
  nameOf(at) {
    const { id, shots } = this.columns[at];
    return this.columns.filter((column) => column.id === id).length > 1 ? `${id} (${shots}-shot)` : id;
  }

  /** Different values of a fact of the columns, such as `language`. */
  values(fact) {
    const found = new Set(this.columns.map((column) => column[fact]).filter((value) => value !== null && value !== undefined));
    return [...found].sort((a, b) => String(a).localeCompare(String(b), undefined, { numeric: true }));
  }

  tags() {
    return [...new Set(this.models.flatMap((model) => model.runs.flatMap((run) => run.tags)))].sort();
  }

  /** Whether a column passes the filters of the address. */
  passes(at, query) {
    const column = this.columns[at];
    const words = (query.get("task") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const text = [column.label, column.section, column.id, column.metric, column.task, ...(column.members || [])].join(" ").toLowerCase();
    if (!words.every((word) => text.includes(word))) return false;
    // A group has none of these: it passes where its tasks are not told apart.
    return ["language", "template", "shots"].every((fact) => !query.get(fact) || String(column[fact]) === query.get(fact));
  }

  /** Positions of the models that pass the filters of the address. */
  rows(query) {
    const words = (query.get("model") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const since = query.get("since") || "";
    const tag = query.get("tag") || "";
    return this.models.map((_, at) => at).filter((at) => {
      const model = this.models[at];
      const text = [model.name, ...model.runs.flatMap((run) => [run.name, run.note ?? "", ...run.tags])].join(" ").toLowerCase();
      return words.every((word) => text.includes(word)) && model.runs.some((run) => (!since || run.date.slice(0, 10) >= since) && (!tag || run.tags.includes(tag)));
    });
  }

  run(row, cell) {
    return this.models[row].runs[cell.run];
  }

  /** The address of the documents behind a cell; of a group, all documents of its run. */
  documents(row, at, id = null) {
    const cell = this.cells[row][at];
    const task = id ?? (this.columns[at].kind === "task" ? cell.id : "");
    return this.within([this.run(row, cell).name], (position) => samplesLink(position, task));
  }

  /** The address of the prompt of the first document. */
  prompt(row, at, id = null) {
    const cell = this.cells[row][at];
    return this.within([this.run(row, cell).name], (position) => `#/prompt?${new URLSearchParams({ run: position + 1, task: id ?? cell.id })}`);
  }

  /** The address of the comparison of two models' runs; null if both scores are of one run. */
  pair(row, other, at) {
    const [baseline, mine] = [this.run(other, this.cells[other][at]).name, this.run(row, this.cells[row][at]).name];
    return baseline === mine ? null : this.within([baseline, mine], (first, second) => `#/compare?${new URLSearchParams({ base: first + 1, with: second + 1 })}`);
  }

  /** An address on this page, or on the server's page of some runs. */
  within(names, fragment) {
    if (!SUMMARY.listing) return fragment(...names.map((name) => this.page.places[name]));
    return `/report?${new URLSearchParams(names.map((name) => ["run", name]))}${fragment(...names.map((_, at) => at))}`;
  }

  /** The row of the best model of a column, or -1. */
  best(at) {
    return this.cells.findIndex((cells) => cells[at].best);
  }

  history(row) {
    const names = new Set(this.models[row].runs.map((run) => run.name));
    return (this.page.histories || []).find((history) => history.runs.some((run) => names.has(run.name)));
  }
}

/** How far a value lies from chance to the top of its metric, 0 to 1; null where there is no such scale. */
export function heatOf(value, column) {
  if (value === null || column.top === null) return null;
  // Chance is known once documents were read; an accuracy above 0 may be less than that.
  if (column.n === null && column.chance === null && /^(balanced_)?acc/.test(column.metric)) return null;
  const low = column.higher_is_better ? (column.chance ?? 0) : column.top;
  const high = column.higher_is_better ? column.top : 0;
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}

/** A value with as many digits as its scale bears. */
export function writtenScore(value, column) {
  if (value === null || value === undefined) return "–";
  if (column.top === null) return Number(value.toPrecision(4)).toString();
  return value.toFixed(column.unit ? 1 : 3);
}

/** `1–3`, or `2` where only one rank is left. */
export function rankText(cell) {
  if (cell.rank_low === null || cell.rank_high === null) return "";
  return cell.rank_low === cell.rank_high ? String(cell.rank_low) : `${cell.rank_low}–${cell.rank_high}`;
}

const REASONS = [
  [/^not run$/, () => say("reason_not_run")],
  [/^run with (.+)$/, ([, what]) => say("reason_run_with", { what: what.replaceAll("template ", say("reason_template")) })],
  [/^only (\d+) of its (\d+) tasks$/, ([, held, tasks]) => say("reason_only_some", { held, tasks })],
  [/^partial: ([\d,]+) documents here, ([\d,]+) there$/, ([, here, there]) => say("reason_fewer", { here, there })],
  [/^no other model has a comparable score$/, () => say("reason_alone")],
];

/** A reason of the leaderboard in the reader's language; as it is where it is none of the usual ones. */
export function reasonText(text) {
  for (const [pattern, words] of REASONS) {
    const found = pattern.exec(text ?? "");
    if (found) return words(found);
  }
  return text;
}

/** Reasons and differences that cells refer to by letter. */
export class BoardNotes {
  constructor() {
    this.letters = new Map();
  }

  letter(text) {
    if (!this.letters.has(text)) {
      let number = this.letters.size;
      let letters = "";
      for (; number >= 0; number = Math.floor(number / 26) - 1) letters = String.fromCharCode(97 + (number % 26)) + letters;
      this.letters.set(text, letters);
    }
    return this.letters.get(text);
  }
}
