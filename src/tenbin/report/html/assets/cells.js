// The page's runs, and each cell's index, loaded on first use.

import { read, readOnce } from "./blocks.js";

export const SUMMARY = JSON.parse(document.getElementById("summary").textContent);
export const RUNS = SUMMARY.runs || [];
const indexes = new Map();

/** State letters: correct, wrong, partially correct, failed, measured only. */
export const STATES = { r: "right", w: "wrong", p: "partly", f: "failed", n: "measured" };
export const MARKS = { r: "✓", w: "✗", p: "◐", f: "!", n: "·" };

/** The index of a cell: columns of ids, states and text snippets. */
export function indexOf(run, cell) {
  const key = `${run}/${cell}`;
  if (!indexes.has(key)) {
    const samples = RUNS[run].cells[cell].samples;
    indexes.set(key, samples ? readOnce(samples.index) : Promise.resolve({ document: [], states: {} }));
  }
  return indexes.get(key);
}

/** One sample of a cell, by position. */
export async function sampleAt(run, cell, position) {
  let left = position;
  for (const [block, size] of RUNS[run].cells[cell].samples.blocks) {
    if (left < size) return (await read(block))[left];
    left -= size;
  }
  return null;
}

/** The state letters of a cell under a metric, or under its first metric. */
export function statesOf(index, metric) {
  return index.states[metric] ?? Object.values(index.states)[0] ?? "";
}

/** Position of a document in a cell by a column's value; the map is built once per cell. */
const places = new WeakMap();
export function placeOf(index, column, value) {
  if (!places.has(index)) places.set(index, {});
  const made = places.get(index);
  made[column] ??= new Map((index[column] || []).map((one, at) => [one, at]));
  return made[column].get(value);
}

/** The cell of a run that has this id, or -1. */
export function cellById(run, id) {
  return RUNS[run].cells.findIndex((cell) => cell.id === id);
}

/** A run's name, or its model's. */
export function runName(run) {
  return RUNS[run].name || RUNS[run].model;
}
