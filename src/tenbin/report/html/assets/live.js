// The runs of a served folder, polled every few seconds, with progress and partial scores.

import { announce, fill, foreign, make, say } from "./elements.js";
import { count, duration, moment, score, span } from "./numbers.js";
import { Table } from "./table.js";

const SECONDS = 3;

export function liveView() {
  const running = make("section", { class: "running", "aria-live": "off" });
  const list = make("section");
  const chosen = new Set();
  const state = { running, list, chosen, table: null };
  refresh(state);
  const clock = setInterval(() => (running.isConnected ? refresh(state) : clearInterval(clock)), SECONDS * 1000);
  return [make("p", {}, say("runs_note")), running, list];
}

async function refresh(state) {
  let runs;
  try {
    const response = await fetch("/runs.json", { credentials: "same-origin" });
    runs = (await response.json()).runs;
  } catch {
    fill(state.running, make("p", { class: "caution", role: "alert" }, say("server_gone")));
    return;
  }
  const stored = (run) => run.state === "finished" || run.state === "partial";
  const parts = runs.filter((run) => !stored(run));
  fill(state.running, parts.map((run) => (run.state === "damaged" ? damagedPart(run) : runningPart(run))));
  const finished = runs.filter(stored);
  const mark = JSON.stringify(finished);
  if (mark === state.mark) return;
  if (state.mark !== undefined) announce(say("runs_changed"));
  state.mark = mark;
  fill(state.list, finishedPart(finished, state.chosen));
}

function reportLink(names) {
  return `/report?${new URLSearchParams(names.map((name) => ["run", name]))}`;
}

function runningPart(run) {
  const bar = make("progress", { max: String(run.requests || 1), value: String(run.answered || 0), "aria-label": say("progress_of", { name: run.name }) });
  const rows = (run.cells || []).flatMap((cell) => Object.entries(cell.scores || {}).slice(0, 2).map(([name, entry]) => ({ cell, name, entry })));
  const table = new Table(say("partial_scores"), [
    { label: say("task"), show: (row) => foreign(row.cell.id) },
    { label: say("answered"), number: true, show: (row) => `${count(row.cell.answered)} / ${count(row.cell.documents)}` },
    { label: say("metric"), show: (row) => foreign(row.name, null, "span", { class: "mono" }) },
    { label: say("value"), number: true, class: "value", show: (row) => score(row.entry.value, row.entry.unit) },
    { label: say("standard_error"), number: true, show: (row) => score(row.entry.stderr, row.entry.unit) },
    rows.some((row) => row.entry.sequence) ? { label: say("confidence_sequence"), number: true, show: (row) => (row.entry.sequence ? `${span(row.entry.sequence.low, row.entry.sequence.high, row.entry.unit)} (n = ${count(row.entry.sequence.n)})` : "–") } : null,
    { label: say("failed"), number: true, show: (row) => make("span", { class: row.entry.failed ? "some" : "none" }, count(row.entry.failed)) },
  ].filter(Boolean), rows, { copies: false, hideCaption: true });
  return make(
    "article",
    { class: "running-run" },
    make("h2", {}, foreign(run.model), " ", make("span", { class: "version mono" }, foreign(run.name))),
    make("p", {}, bar, " ", say("answered_of", { n: count(run.answered), all: count(run.requests) }), " · ", say(`run_${run.state}`, {}), " · ", say("last_update", { moment: moment(run.updated) })),
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

function finishedPart(runs, chosen) {
  const open = make("a", { class: "button", "aria-disabled": "true" }, say("open_chosen"));
  const follow = () => {
    if (chosen.size) open.setAttribute("href", reportLink([...chosen]));
    else open.removeAttribute("href");
    open.setAttribute("aria-disabled", String(!chosen.size));
  };
  const box = (run) => {
    const field = make("input", { type: "checkbox", "aria-label": say("choose_run", { name: run.name }), checked: chosen.has(run.name) });
    field.addEventListener("change", () => {
      if (field.checked) chosen.add(run.name);
      else chosen.delete(run.name);
      follow();
    });
    return field;
  };
  follow();
  const table = new Table(say("view_runs"), [
    { label: say("run"), value: (run) => run.name, show: (run) => make("span", {}, box(run), " ", make("a", { href: reportLink([run.name]) }, foreign(run.name, null, "span", { class: "mono" })), partialMark(run)), plain: (run) => [run.name, partialMark(run)?.textContent ?? ""].join("").trim() },
    { label: say("model"), value: (run) => run.model, show: (run) => foreign(run.model), plain: (run) => run.model },
    { label: say("date"), value: (run) => run.date, show: (run) => moment(run.date), plain: (run) => run.date },
    { label: say("time"), number: true, value: (run) => run.seconds, show: (run) => duration(run.seconds), plain: (run) => run.seconds },
    { label: say("tasks"), number: true, value: (run) => run.tasks, show: (run) => count(run.tasks), plain: (run) => run.tasks },
    { label: say("documents"), number: true, value: (run) => run.documents, show: (run) => count(run.documents), plain: (run) => run.documents },
    { label: say("failed"), number: true, value: (run) => run.failed, show: (run) => make("span", { class: run.failed ? "some" : "none" }, count(run.failed)), plain: (run) => run.failed },
  ], runs, { hideCaption: true, class: "scores" });
  return [make("div", { class: "controls" }, open, make("span", { class: "note" }, say("compare_hint"))), table.element];
}
