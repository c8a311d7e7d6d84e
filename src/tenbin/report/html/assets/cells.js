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

/** What a run is called; no two runs of a page are called the same. */
export function runName(run) {
  return RUNS[run].name;
}

/** The run that an address names; addresses of earlier versions give its number. -1 for none. */
export function runNamed(text) {
  const at = RUNS.findIndex((run) => run.name === text);
  if (at >= 0) return at;
  const number = Number(text);
  return Number.isInteger(number) && number >= 1 && number <= RUNS.length ? number - 1 : -1;
}

/** Whether a metric's score can be held against that of random guessing. */
export function chanceOf(metric, chance) {
  return chance !== null && chance !== undefined && /^(balanced_)?acc/.test(metric.name) ? chance : null;
}

/** How dark a score is shaded, 0 to 1 from chance to the full score; null for what has no such scale. */
export function shadeOf({ value, unit, up }, chance) {
  const top = unit === "%" ? 100 : 1;
  if (value === null || value < 0 || value > top) return null;
  const floor = chance ?? 0;
  const share = Math.max(0, (value / top - floor) / (1 - floor));
  return up ? share : 1 - share;
}

/** Chance of a group: that of its tasks if it is the same, or if documents weigh the same. */
export function groupChance(run, group) {
  const cells = group.members.map((id) => RUNS[run].cells[cellById(run, id)]);
  const known = cells.map((cell) => cell?.samples?.chance ?? null);
  if (!known.length || known.includes(null)) return null;
  if (known.every((one) => Math.abs(one - known[0]) < 1e-9)) return known[0];
  const sizes = cells.map((cell) => cell.samples.count);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return group.weighting ? null : known.reduce((sum, one, at) => sum + one * sizes[at], 0) / total;
}

/** The address of the documents of a task: in one run, or of all runs side by side. */
export function samplesLink(run, task, more = {}) {
  const place = RUNS.length > 1 && run !== null ? { run: runName(run), task } : { task };
  return `#/samples?${new URLSearchParams({ ...place, ...more })}`;
}
