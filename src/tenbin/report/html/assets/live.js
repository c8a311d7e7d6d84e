// The runs of a served folder, polled every few seconds, with progress and partial scores.

import { announce, fill, foreign, make, say } from "./elements.js";
import { count, duration, moment, score, span } from "./numbers.js";
import { whisker } from "./whisker.js";
import { Table } from "./table.js";

const SECONDS = 3;
const MOST_LISTED = 100;
const MOST_SCORES = 3;

export function liveView() {
  const running = make("section", { class: "running", "aria-live": "off" });
  const list = make("section");
  const state = { running, list, chosen: new Set(), rates: new Map(), words: "", all: false };
  refresh(state);
  const clock = setInterval(() => (running.isConnected ? refresh(state) : clearInterval(clock)), SECONDS * 1000);
  return [make("p", {}, say("runs_note")), running, list];
}

async function refresh(state) {
  let told;
  try {
    const response = await fetch(`/runs.json?${new URLSearchParams({ known: state.mark ?? "" })}`, { credentials: "same-origin" });
    told = await response.json();
  } catch {
    fill(state.running, make("p", { class: "caution", role: "alert" }, say("server_gone")));
    return;
  }
  if (told.runs === null) return;
  const stored = (run) => run.state === "finished" || run.state === "partial";
  const parts = told.runs.filter((run) => !stored(run));
  fill(state.running, parts.map((run) => (run.state === "damaged" ? damagedPart(run) : runningPart(run, state.rates))));
  state.mark = told.mark;
  const finished = told.runs.filter(stored);
  const mark = JSON.stringify(finished);
  if (mark === state.finished) return;
  if (state.finished !== undefined) announce(say("runs_changed"));
  state.finished = mark;
  fill(state.list, finishedPart(finished, state));
}

function reportLink(names) {
  return `/report?${new URLSearchParams(names.map((name) => ["run", name]))}`;
}

/** Seconds that a run still takes, from the answers since this page first saw it; null before there are any. */
function secondsLeft(run, rates) {
  const now = Date.parse(run.updated);
  if (!rates.has(run.name) || rates.get(run.name).answered > run.answered) rates.set(run.name, { now, answered: run.answered, rate: null });
  const first = rates.get(run.name);
  if (run.answered > first.answered && now > first.now) first.rate = (run.answered - first.answered) / (now - first.now);
  return first.rate === null ? null : (run.requests - run.answered) / first.rate / 1000;
}

function timeLeft(run, rates) {
  if (run.state !== "asking") return null;
  const left = secondsLeft(run, rates);
  return [" · ", left === null ? say("estimate_unknown") : say("about_left", { time: duration(left) })];
}

/** What is known of a partial score: the confidence sequence, or else its standard error and that it is no interval. */
function partialInterval(entry) {
  const known = entry.sequence;
  if (known) return `${span(known.low, known.high, entry.unit)} (n = ${count(known.n)})`;
  // Where all values are equal so far, the spread of the others is not known.
  return entry.stderr ? make("span", { class: "note" }, `± ${score(entry.stderr, entry.unit)}`) : "–";
}

function runningPart(run, rates) {
  const bar = make("progress", { max: String(run.requests || 1), value: String(run.answered || 0), "aria-label": say("progress_of", { name: run.name }) });
  const rows = (run.cells || []).flatMap((cell) => Object.entries(cell.scores || {}).slice(0, 2).map(([name, entry]) => ({ cell, name, entry })));
  const sequences = rows.some((row) => row.entry.sequence);
  const table = new Table(say("partial_scores"), [
    { label: say("task"), show: (row) => foreign(row.cell.id) },
    { label: say("answered"), number: true, show: (row) => `${count(row.cell.answered)} / ${count(row.cell.documents)}` },
    { label: say("metric"), show: (row) => foreign(row.name, null, "span", { class: "mono" }) },
    { label: say("value"), number: true, class: "value", show: (row) => score(row.entry.value, row.entry.unit) },
    { label: "", spoken: say("plot"), class: "plot", show: (row) => whisker({ name: row.name, unit: row.entry.unit, value: row.entry.value, low: row.entry.sequence?.low ?? null, high: row.entry.sequence?.high ?? null }) },
    { label: say(sequences ? "confidence_sequence" : "no_interval"), number: true, show: (row) => partialInterval(row.entry) },
    { label: say("failed"), number: true, show: (row) => make("span", { class: row.entry.failed ? "some" : "none" }, count(row.entry.failed)) },
  ], rows, { copies: false, hideCaption: true });
  return make(
    "article",
    { class: "running-run" },
    make("h2", {}, foreign(run.model), " ", make("span", { class: "version mono" }, foreign(run.name))),
    make("p", {}, bar, " ", say("answered_of", { n: count(run.answered), all: count(run.requests) }), timeLeft(run, rates), " · ", say(`run_${run.state}`, {}), " · ", say("last_update", { moment: moment(run.updated) })),
    make("p", { class: "note" }, say("partial_note")),
    table.element,
    run.has_result ? make("p", {}, make("a", { href: reportLink([run.name]) }, say("open_result"))) : null,
  );
}

/** A note beside the name of a run that was stopped early. */
function partialMark(run) {
  if (run.state !== "partial") return null;
  return make("span", { class: "caution partial-mark" }, " ", say("run_partial", { n: count(run.documents), all: count(run.asked) }));
}

function damagedPart(run) {
  return make(
    "article",
    { class: "running-run damaged-run" },
    make("h2", {}, foreign(run.name, null, "span", { class: "mono" })),
    make("p", { class: "caution" }, say("run_damaged"), ": ", foreign(run.reason)),
  );
}

function finishedPart(runs, state) {
  const open = make("a", { class: "button", "aria-disabled": "true" }, say("open_chosen"));
  const follow = () => {
    if (state.chosen.size) open.setAttribute("href", reportLink([...state.chosen]));
    else open.removeAttribute("href");
    open.setAttribute("aria-disabled", String(!state.chosen.size));
  };
  follow();
  const counted = make("span", { class: "note", role: "status" });
  const all = make("button", { type: "button", class: "quiet" });
  const table = new Table(say("view_runs"), runColumns(runs, state, follow), [], { hideCaption: true, class: "scores" });
  const words = make("input", { type: "search", placeholder: say("filter_runs"), "aria-label": say("filter_runs"), value: state.words });
  const texts = new Map(runs.map((run) => [run, searchableRun(run)]));
  const apply = () => {
    const wanted = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = runs.filter((run) => wanted.every((word) => texts.get(run).includes(word)));
    // Sorting sees all of them; only so many are drawn.
    table.rows = found;
    table.most = state.all ? Infinity : MOST_LISTED;
    table.draw();
    counted.textContent = say("rows_shown", { n: count(found.length) });
    all.textContent = say("show_all_runs", { n: count(found.length) });
    all.hidden = found.length <= table.most;
  };
  words.addEventListener("input", () => {
    state.words = words.value;
    apply();
  });
  all.addEventListener("click", () => {
    state.all = true;
    apply();
  });
  apply();
  return [make("div", { class: "controls" }, words, counted, open, make("span", { class: "note" }, say("compare_hint"))), table.element, all];
}

const searchableRun = (run) => [run.name, run.model, run.note, ...run.tags, ...run.scores.map((one) => one.id)].join(" ").toLowerCase();

function runColumns(runs, state, follow) {
  const box = (run) => {
    const field = make("input", { type: "checkbox", "aria-label": say("choose_run", { name: run.name }), checked: state.chosen.has(run.name) });
    field.addEventListener("change", () => {
      if (field.checked) state.chosen.add(run.name);
      else state.chosen.delete(run.name);
      follow();
    });
    return field;
  };
  const about = (run) => [run.tags.map((tag) => [" ", make("span", { class: "tag" }, foreign(tag))]), run.note ? foreign(run.note, null, "span", { class: "note run-note" }) : null];
  const scores = (run) => run.scores.map((one) => `${one.id} ${one.name} ${score(one.value, one.unit)}`).join("; ");
  return [
    { label: say("run"), value: (run) => run.name, show: (run) => make("span", {}, box(run), " ", make("a", { href: reportLink([run.name]) }, foreign(run.name, null, "span", { class: "mono" })), partialMark(run), about(run)), plain: (run) => [run.name, partialMark(run)?.textContent ?? ""].join("").trim() },
    { label: say("model"), value: (run) => run.model, show: (run) => foreign(run.model.split("/").pop(), null, "span", { title: run.model }), plain: (run) => run.model },
    { label: say("headline"), show: headlineScores, plain: scores },
    { label: say("date"), value: (run) => run.date, show: (run) => moment(run.date), plain: (run) => run.date },
    { label: say("time"), number: true, class: "minor", value: (run) => run.seconds, show: (run) => duration(run.seconds), plain: (run) => run.seconds },
    { label: say("tasks"), number: true, class: "minor", value: (run) => run.tasks, show: (run) => count(run.tasks), plain: (run) => run.tasks },
    { label: say("documents"), number: true, class: "minor", value: (run) => run.documents, show: (run) => count(run.documents), plain: (run) => run.documents },
    { label: say("failed"), number: true, value: (run) => run.failed, show: (run) => make("span", { class: run.failed ? "some" : "none" }, count(run.failed)), plain: (run) => run.failed },
  ];
}

/** The scores of the groups, or of the first tasks where there are none; all of them as a hint. */
function headlineScores(run) {
  const groups = run.scores.filter((one) => one.group);
  const shown = (groups.length ? groups : run.scores).slice(0, MOST_SCORES);
  const hint = run.scores.map((one) => `${one.id} ${one.name} ${score(one.value, one.unit)} ${span(one.low, one.high, one.unit)}`).join("\n");
  return make("span", { class: "headlines", title: hint }, shown.map((one) => make("span", {}, foreign(one.id, null, "span", { class: "note" }), " ", score(one.value, one.unit))));
}
