// The matrix of a sweep: tasks by templates, each with its interval, as a heat map.

import { foreign, make, say, scroller } from "./elements.js";
import { bare, interval } from "./numbers.js";
import { RUNS, cellById, chanceOf, samplesLink, shadeOf } from "./cells.js";
import { metricName } from "./whisker.js";

/** An option's name: its template, and its shots if options differ in them. */
export function optionName(option) {
  return option.ids.some((id) => id.split("@").slice(1).join("@").includes("shot")) ? `${option.template}, ${say("shots_of", { n: option.shots })}` : String(option.template);
}

/** Tasks by templates; darker is farther above chance. Every cell leads to its documents. */
export function templateMatrix(sweep, run) {
  const names = [...new Set(sweep.tasks.flatMap((task) => task.options.map(optionName)))];
  const chosen = sweep.tasks.some((task) => task.choice);
  const head = [say("task"), ...names.map((name) => foreign(name)), say("spread"), chosen ? say("honest") : null].filter(Boolean);
  return make(
    "figure",
    { class: "matrix-figure" },
    scroller(
      say("heat_caption"),
      make(
        "table",
        { class: "heat" },
        make("caption", { class: "off-screen" }, say("heat_caption")),
        make("thead", {}, make("tr", {}, head.map((name, at) => make("th", { scope: "col", class: at ? "number" : null }, name)))),
        make("tbody", {}, sweep.tasks.map((task) => matrixRow(task, names, run, chosen))),
      ),
    ),
    make("figcaption", {}, say("heat_caption"), say("full_stop"), make("span", { class: "note" }, say("heat_note"), " ", say("templates_note"))),
  );
}

function matrixRow(task, names, run, chosen) {
  const byName = new Map(task.options.map((option, at) => [optionName(option), at]));
  const honest = task.choice?.honest;
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, foreign(task.task), make("span", { class: "version" }, ` ${task.version}`), make("span", { class: "interval" }, metricName({ name: task.metric, up: task.higher_is_better }))),
    names.map((name) => (byName.has(name) ? matrixCell(task, byName.get(name), run) : make("td", { class: "none" }, "–"))),
    make("td", {}, bare(task.spread.range, task.unit)),
    chosen ? make("td", {}, honest ? [make("strong", {}, bare(honest.value, task.unit)), make("span", { class: "interval" }, interval(honest, task.unit))] : "–") : null,
  );
}

function matrixCell(task, at, run) {
  const option = task.options[at];
  const marks = [at === task.best ? "best" : "", at === task.choice?.option ? "chosen" : ""].join(" ");
  const said = [at === task.best ? say("best") : null, at === task.choice?.option ? say("chosen_option") : null].filter(Boolean);
  const cell = make("td", { class: marks }, make("a", { class: "bare", href: samplesLink(run, option.ids[0]) }, bare(option.value, task.unit)), said.length ? make("span", { class: "off-screen" }, ` (${said.join(", ")})`) : null, make("span", { class: "interval" }, interval(option, task.unit)));
  // A scale of the row's own would show options that differ by chance as black and white.
  const chance = RUNS[run].cells[cellById(run, option.ids[0])]?.samples?.chance;
  const share = shadeOf({ value: option.value, unit: task.unit, up: task.higher_is_better }, chanceOf({ name: task.metric }, chance));
  if (share !== null) cell.style.background = `color-mix(in srgb, var(--accent) ${Math.round(45 * share)}%, transparent)`;
  return cell;
}
