// A sweep: every template of every task, the chosen one and its honest score.

import { foreign, make, say } from "./elements.js";
import { bare, interval, percent, probability, score } from "./numbers.js";
import { SUMMARY, samplesLink } from "./cells.js";
import { Table } from "./table.js";
import { notices, runHeading } from "./runs.js";
import { templateMatrix, optionName } from "./template_matrix.js";
import { distributionPart } from "./distribution.js";
import { metricName, whisker } from "./whisker.js";

export function templatesView() {
  const parts = SUMMARY.sweeps.flatMap((sweep, run) =>
    sweep
      ? [
          runHeading(run),
          sweep.error ? make("p", { class: "caution" }, foreign(sweep.error)) : null,
          ...(sweep.distributions ?? []).map((found, at) => distributionPart(found, run, at, sweep.tasks.some((task) => task.leading && task.task === found.task && task.version === found.version))),
          sweep.tasks.length ? templateMatrix(sweep, run) : null,
          ...sweep.tasks.map((task) => taskPart(task, run)),
        ]
      : [],
  );
  return [make("div", { class: "notices" }, notices()), ...parts];
}

function taskPart(task, run) {
  const behind = new Map((task.differences || []).map((entry) => [entry.option, entry]));
  const rows = task.options.map((option, at) => ({ option, at, entry: behind.get(at), metric: { ...option, name: task.metric, unit: task.unit, up: task.higher_is_better } }));
  const table = new Table(`${task.task} ${task.version}`, [
    { label: say("template"), value: (row) => optionName(row.option), show: (row) => make("span", {}, make("a", { href: samplesLink(run, row.option.ids[0]) }, foreign(optionName(row.option))), row.at === task.choice?.option ? make("span", { class: "badge" }, say("chosen_option")) : null), plain: (row) => optionName(row.option) },
    { label: say("shots"), number: true, value: (row) => row.option.shots, show: (row) => String(row.option.shots), plain: (row) => row.option.shots },
    { label: say("value"), number: true, class: "value", value: (row) => row.option.value, show: (row) => score(row.option.value, task.unit), plain: (row) => bare(row.option.value, task.unit) },
    { label: "", spoken: say("plot"), class: "plot", show: (row) => whisker(row.metric) },
    { label: say("interval"), number: true, class: "interval", value: (row) => row.option.low, show: (row) => interval(row.option, task.unit), plain: (row) => interval(row.option, task.unit) },
    { label: say("behind_best"), number: true, value: (row) => (row.entry ? Math.abs(row.entry.difference) : null), show: (row) => (row.at === task.best ? say("best") : bare(row.entry ? Math.abs(row.entry.difference) : null, task.unit)), plain: (row) => (row.at === task.best ? say("best") : bare(row.entry ? Math.abs(row.entry.difference) : null, task.unit)) },
    { label: say("p_holm"), number: true, value: (row) => row.entry?.p_holm ?? null, show: (row) => (row.entry ? probability(row.entry.p_holm) : ""), plain: (row) => (row.entry ? probability(row.entry.p_holm) : "") },
    { label: say("failed"), number: true, value: (row) => row.option.failed, show: (row) => String(row.option.failed ?? 0), plain: (row) => row.option.failed },
  ], rows, { class: "scores", hideCaption: true });
  return make("section", {}, make("h2", {}, foreign(task.task), make("span", { class: "version" }, ` ${task.version} · `), metricName({ name: task.metric, up: task.higher_is_better })), task.leading ? make("p", {}, say("leading_note")) : null, table.element, conclusions(task));
}

function conclusions(task) {
  const unit = task.unit;
  const lines = [];
  if (task.options.length > 1) lines.push(say("spread_line", { low: score(task.spread.lowest, unit), high: score(task.spread.highest, unit), deviation: bare(task.spread.deviation, unit) }));
  if (task.together) {
    const found = task.together;
    lines.push(say(found.shown ? "differ_line" : "no_difference_line", { p: found.p_value === null ? "–" : probability(found.p_value) }));
    if (!found.shown && found.documents_needed) lines.push(say("needed_line", { n: found.documents_needed.toLocaleString() }));
    if (found.mean && !task.leading) lines.push(say("mean_line", { mean: score(found.mean.value, unit), interval: interval(found.mean, unit) }));
  }
  if (task.choice) {
    lines.push(say("choice_line", { name: optionName(task.options[task.choice.option]), on: task.choice.on }));
    lines.push(say("honest_line", { honest: score(task.choice.honest.value, unit), interval: interval(task.choice.honest, unit), naive: score(task.choice.naive, unit), optimism: bare(task.choice.optimism, unit) }));
  }
  for (const option of task.options) if (option.draws) lines.push(say("draws_line", { name: optionName(option), n: option.draws.length, low: score(option.draws_spread.lowest, unit), high: score(option.draws_spread.highest, unit) }));
  if (task.variance?.variance > 0) lines.push(say("variance_line", { parts: task.variance.varied.map((name) => `${say(`variance_${name}`)} ${percent(task.variance[name])}`).join(say("list_comma")) }));
  return make("ul", { class: "conclusions" }, lines.map((line) => make("li", {}, foreign(line))));
}
