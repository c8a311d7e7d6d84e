// The filters of the document browser.

import { make, say } from "./elements.js";
import { RUNS, runName } from "./cells.js";
import { PAIR_FILTERS, WHOLE_FILTERS, isNamed } from "./documents.js";

/** Fields that read and change a view's query. */
export function sampleControls(view) {
  const { query } = view;
  const together = RUNS.length > 1 && view.run === null;
  const tasks = view.tasks;
  const cells = view.chosenTasks.flatMap((task) => task.places.map(([run, cell]) => RUNS[run].cells[cell]));
  const languages = [...new Set(tasks.map((task) => task.language).filter(Boolean))].sort();
  const metrics = [...new Set(cells.flatMap((cell) => cell.metrics.map((metric) => metric.name)))];
  const task = tasks.find((one) => isNamed(one, query.get("task") ?? ""))?.name ?? "";
  const choose = (name, values) => view.change({ doc: null, ...values, [name]: values[name] });
  const field = (name, label, options, value, more = {}) => select(`by-${name}`, label, options, value, (chosen) => choose(name, { [name]: chosen, ...more }));
  return [
    RUNS.length > 1 ? field("run", say("run"), [["", say("all_runs")], ...RUNS.map((_, run) => [runName(run), runName(run)])], view.run === null ? "" : runName(view.run), { state: null, doc: query.get("doc") }) : null,
    field("task", say("task"), [["", say("all_tasks")], ...tasks.map((one) => [one.name, one.name])], task),
    languages.length > 1 && !task ? field("language", say("language"), [["", say("all_languages")], ...languages.map((one) => [one, one])], query.get("language") ?? "") : null,
    field("state", say("state"), together ? togetherStates(view.pair) : singleStates(), query.get("state") ?? ""),
    together && RUNS.length > 2 ? pairFields(view) : null,
    metrics.length > 1 ? field("metric", say("metric"), [["", say("by_first_metric")], ...metrics.map((one) => [one, one])], query.get("metric") ?? "") : null,
    searchField(view),
  ];
}

/** Options are [value, text] or {label, options}. */
function select(id, label, options, value, changed) {
  const option = ([one, text]) => make("option", { value: one, selected: one === value }, text);
  const made = make("select", { "aria-label": label, id }, options.map((one) => (Array.isArray(one) ? option(one) : make("optgroup", { label: one.label }, one.options.map(option)))));
  made.addEventListener("change", () => changed(made.value));
  return made;
}

const SINGLE_STATES = ["right", "wrong", "partly", "failed"];

function singleStates() {
  return [["", say("all_states")], ...SINGLE_STATES.map((name) => [name, say(`state_${name}`)])];
}

function togetherStates([a, b]) {
  const names = { a: runName(a), b: runName(b) };
  return [
    ["", say("all_states")],
    { label: say("over_all_runs"), options: WHOLE_FILTERS.map((name) => [name, say(`filter_${name}`)]) },
    { label: say("over_pair", names), options: PAIR_FILTERS.map((name) => [name, say(`filter_${name}`, names)]) },
    { label: say("in_any_run"), options: SINGLE_STATES.map((name) => [name, say(`state_${name}`)]) },
  ];
}

/** The two runs of the filters for pairs. */
function pairFields(view) {
  const options = RUNS.map((_, run) => [runName(run), runName(run)]);
  const [a, b] = view.pair;
  const change = (first, second) => view.change({ a: runName(first), b: runName(second) });
  const at = (name) => RUNS.findIndex((run) => run.name === name);
  // Who chooses the other run of the pair turns the pair around.
  const first = select("pair-a", say("first_of_pair"), options, runName(a), (name) => change(at(name), at(name) === b ? a : b));
  const second = select("pair-b", say("second_of_pair"), options, runName(b), (name) => change(at(name) === a ? b : a, at(name)));
  return make("span", { class: "pair-fields" }, first, make("span", { "aria-hidden": "true" }, "→"), second);
}

function searchField(view) {
  const search = make("input", { type: "search", placeholder: say("search_text"), "aria-label": say("search_text"), id: "text-search", value: view.query.get("text") });
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => view.change({ text: search.value, doc: null }, false), 250);
  });
  return search;
}
