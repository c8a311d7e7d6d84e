// The documents of tasks, in one run or in several side by side.

import { RUNS, SUMMARY, cellById, indexOf, statesOf } from "./cells.js";

/**
 * The tasks of one run, or with `run` null of all runs side by side: {name, language, kind,
 * places: [[run, cell], …]}.
 */
export function tasksOf(run) {
  const task = (name, places) => {
    const [first] = places.map(([r, c]) => RUNS[r].cells[c]);
    return { name, task: first.task, language: first.language, kind: first.kind, family: first.family, places };
  };
  if (run !== null) return RUNS[run].cells.map((cell, at) => [cell, at]).filter(([cell]) => cell.samples).map(([cell, at]) => task(cell.id, [[run, at]]));
  return SUMMARY.aligned.flatMap(({ name, cells }) => {
    const places = cells.map((id, r) => [r, id === null ? -1 : cellById(r, id)]).filter(([r, c]) => c >= 0 && RUNS[r].cells[c].samples);
    return places.length ? [task(name, places)] : [];
  });
}

/** Whether a name from an address means this task: its own, or the id of one of its cells. */
export function isNamed(task, name) {
  return task.name === name || task.places.some(([run, cell]) => RUNS[run].cells[cell].id === name);
}

/** Where a task's documents are in each run. */
export class Documents {
  /** Load the indexes of a task's cells. */
  static async load(task) {
    return new Documents(task, await Promise.all(task.places.map(([run, cell]) => indexOf(run, cell))));
  }

  constructor(task, indexes) {
    this.task = task;
    this.indexes = indexes;
    if (indexes.length === 1) {
      this.ids = indexes[0].document;
      return;
    }
    const numbers = new Map();
    for (const index of indexes) for (const id of index.document) if (!numbers.has(id)) numbers.set(id, numbers.size);
    this.ids = [...numbers.keys()];
    // For each run, the position of each document in its cell; -1 where the run did not ask it.
    this.positions = indexes.map((index) => {
      const found = new Int32Array(this.ids.length).fill(-1);
      index.document.forEach((id, at) => (found[numbers.get(id)] = at));
      return found;
    });
  }

  get length() {
    return this.ids.length;
  }

  /** Position of a document in a place's cell; -1 where the run did not ask it. */
  positionAt(place, document) {
    return this.positions ? this.positions[place][document] : document;
  }

  /** The state letter of a document in a place; empty where the run did not ask it. */
  stateAt(place, document, metric) {
    const position = this.positionAt(place, document);
    return position < 0 ? "" : (statesOf(this.indexes[place], metric)[position] ?? "n");
  }

  /** The place of a run; -1 where the run does not have the task. */
  placeOfRun(run) {
    return this.task.places.findIndex(([one]) => one === run);
  }

  /** A column's value from the first run that asked the document. */
  valueOf(column, document) {
    for (let place = 0; place < this.indexes.length; place += 1) {
      const position = this.positionAt(place, document);
      if (position >= 0) return this.indexes[place][column]?.[position] ?? null;
    }
    return null;
  }
}

/** The tests of a document by its states; `a` and `b` are places. */
const RIGHT_LETTER = "r";
const PAIR_TESTS = {
  changed: (a, b) => a !== b,
  only_a: (a, b) => a === RIGHT_LETTER && b !== RIGHT_LETTER,
  only_b: (a, b) => a !== RIGHT_LETTER && b === RIGHT_LETTER,
  both_right: (a, b) => a === RIGHT_LETTER && b === RIGHT_LETTER,
  both_wrong: (a, b) => a !== RIGHT_LETTER && b !== RIGHT_LETTER,
};
const WHOLE_TESTS = {
  differ: (letters) => new Set(letters).size > 1,
  all_right: (letters) => letters.every((one) => one === RIGHT_LETTER),
  none_right: (letters) => !letters.includes(RIGHT_LETTER),
};
export const PAIR_FILTERS = Object.keys(PAIR_TESTS);
export const WHOLE_FILTERS = Object.keys(WHOLE_TESTS);

/**
 * A test of documents: (documents, number) → whether it passes `state`. That is the word of a
 * state letter, for a single run; or a filter over all runs; or one over the runs `a` and `b`.
 */
export function stateTest(state, letter, metric, a, b) {
  if (!state) return () => true;
  if (state in PAIR_TESTS) {
    return (documents, number) => {
      const places = [documents.placeOfRun(a), documents.placeOfRun(b)];
      if (places.includes(-1)) return false;
      const [before, after] = places.map((place) => documents.stateAt(place, number, metric));
      return before !== "" && after !== "" && PAIR_TESTS[state](before, after);
    };
  }
  if (state in WHOLE_TESTS) {
    return (documents, number) => WHOLE_TESTS[state](documents.indexes.map((_, place) => documents.stateAt(place, number, metric)).filter(Boolean));
  }
  return (documents, number) => documents.indexes.some((_, place) => documents.stateAt(place, number, metric) === letter);
}
