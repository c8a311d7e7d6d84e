// Learning curves: scores over the steps of a training, changes that are more than noise, and which tasks carry signal.

import { foreign, make, say } from "./elements.js";
import { bare, count, percent, signed } from "./numbers.js";
import { SUMMARY } from "./cells.js";
import { Table } from "./table.js";
import { figure } from "./figure.js";
import { metricName } from "./overview.js";

const BARS = "▁▂▃▄▅▆▇█";

export function curveView() {
  const { report, figures, without_figure: without } = SUMMARY.curve;
  const steps = report.checkpoints.map((one) => one.step);
  return [
    make("h2", {}, say("curve_heading", { n: count(steps.length), first: count(steps[0]), newest: count(steps.at(-1)) })),
    make("p", {}, say("curve_note")),
    curveTable(report).element,
    make("h2", {}, say("signal_heading")),
    make("p", {}, say("signal_note")),
    signalTable(report).element,
    make("h2", {}, say("curve_figures")),
    make("p", {}, say("chart_curve_note")),
    ...figureParts(figures),
    without ? make("p", { class: "note" }, say("curve_without_figure", { n: count(without) })) : null,
    make("h2", {}, say("checkpoints")),
    checkpointTable(report).element,
    remarks(report),
  ];
}

function nameColumns(report) {
  const name = (curve) => (curve.kind === "group" ? curve.label : `${curve.task} ${curve.version} ${curve.template}`);
  const plainMetric = (curve) => curve.metric;
  return [
    { label: say("task"), value: name, show: (curve) => foreign(name(curve)), plain: name },
    { label: say("metric"), value: plainMetric, show: (curve) => metricName({ name: curve.metric, up: curve.higher_is_better }), plain: plainMetric },
  ];
}

function curveTable(report) {
  const first = (curve) => curve.points[0].value;
  const newest = (curve) => curve.points.at(-1).value;
  const gain = (curve) => curve.points[0].to_newest?.difference ?? null;
  const digits = (curve) => (curve.unit ? 2 : 3);
  const shown = (curve) => Boolean(curve.points[0].to_newest?.shown);
  const step = (key) => ({ number: true, value: (curve) => curve[key], show: (curve) => count(curve[key]), plain: (curve) => curve[key] ?? "" });
  return new Table(say("curve_table"), [
    ...nameColumns(report),
    { label: say("first_step"), number: true, value: first, show: (curve) => bare(first(curve), curve.unit), plain: (curve) => bare(first(curve), curve.unit) },
    { label: say("newest_step"), number: true, class: "value", value: newest, show: (curve) => bare(newest(curve), curve.unit), plain: (curve) => bare(newest(curve), curve.unit) },
    { label: say("difference"), number: true, value: gain, show: (curve) => make("span", { class: shown(curve) ? "some-effect" : "none" }, signed(gain(curve), digits(curve))), plain: (curve) => signed(gain(curve), digits(curve)) },
    { label: "", spoken: say("plot"), class: "spark", show: (curve) => make("span", { "aria-hidden": "true" }, bars(curve.points)) },
    { label: say("last_change"), ...step("last_change") },
    { label: say("same_since"), ...step("same_since") },
    { label: "n", number: true, value: (curve) => curve.n, show: (curve) => count(curve.n), plain: (curve) => curve.n },
  ], report.curves, { class: "scores", hideCaption: true });
}

/** The values as bars between their lowest and their highest; 16 at most. */
function bars(points) {
  const most = 16;
  const last = points.length - 1;
  const chosen = points.length > most ? Array.from({ length: most }, (_, at) => points[Math.round((at * last) / (most - 1))]) : points;
  const values = chosen.map((point) => point.value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return values.map((value) => BARS[high > low ? Math.min(7, Math.floor((8 * (value - low)) / (high - low))) : 0]).join("");
}

function signalTable(report) {
  const number = (key, digits) => ({ number: true, value: (curve) => curve.signal[key], show: (curve) => fixed(curve.signal[key], digits), plain: (curve) => fixed(curve.signal[key], digits) });
  const verdict = (curve) => say(`signal_${curve.signal.verdict}`);
  const reasons = (curve) => curve.signal.reasons.map((reason) => say(`reason_${reason}`)).join("; ");
  const noise = (curve) => bare(curve.signal.noise, curve.unit);
  return new Table(say("signal_heading"), [
    ...nameColumns(report),
    { label: say("signal"), value: (curve) => ["no", "unknown", "some", "yes"].indexOf(curve.signal.verdict), show: (curve) => make("span", { class: `signal-${curve.signal.verdict}` }, verdict(curve)), plain: verdict },
    { label: say("above_chance"), number: true, value: (curve) => curve.signal.chance, show: chance, plain: chance },
    { label: say("step_order"), ...number("monotonicity", 2) },
    { label: say("step_noise"), number: true, value: (curve) => curve.signal.noise, show: noise, plain: noise },
    { label: say("gain_to_noise"), ...number("gain_to_noise", 1) },
    { label: say("wordings_agree"), ...number("template_agreement", 2) },
    { label: say("reason"), class: "reasons", value: reasons, show: (curve) => reasons(curve), plain: reasons },
  ], report.curves, { class: "scores", hideCaption: true });
}

function chance(curve) {
  const { chance: level, above_chance: above, chance_of: of } = curve.signal;
  if (level === null) return "–";
  const said = above === null ? "–" : say(above ? "signal_yes" : "signal_no");
  const share = percent(curve.unit ? level / 100 : level);
  return of === "one_answer" ? `${said} (${share}, ${say("chance_one_answer")})` : `${said} (${share})`;
}

function fixed(value, digits) {
  return value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−");
}

function figureParts(figures) {
  const parts = new Map();
  for (const one of figures) parts.set(one.heading, [...(parts.get(one.heading) ?? []), one]);
  return [...parts].map(([heading, own]) => make("section", {}, make("h3", {}, foreign(heading)), make("div", { class: "curve-figures" }, own.map((one) => figure(one.chart)))));
}

function checkpointTable(report) {
  const runs = (one) => one.runs.join(", ");
  return new Table(say("checkpoints"), [
    { label: say("step"), number: true, value: (one) => one.step, show: (one) => count(one.step), plain: (one) => one.step },
    { label: say("checkpoint"), value: (one) => one.name, show: (one) => foreign(one.name), plain: (one) => one.name },
    { label: say("run"), value: runs, show: (one) => foreign(runs(one)), plain: runs },
    { label: say("fingerprint"), value: (one) => one.fingerprint, show: (one) => make("span", { class: "mono", title: one.fingerprint }, one.fingerprint.slice(0, 12)), plain: (one) => one.fingerprint },
  ], report.checkpoints, { hideCaption: true });
}

/** Steps that are missing, runs that stand on no curve, and curves without tests. */
function remarks(report) {
  const lines = [
    ...report.notes,
    ...Object.entries(report.unread).map(([name, why]) => `${name}: ${why}`),
    ...report.curves.filter((curve) => curve.reason).map((curve) => `${curve.id} ${curve.metric}: ${curve.reason}`),
    ...report.curves.flatMap((curve) => Object.entries(curve.missing).map(([step, why]) => `${curve.id} ${curve.metric}, ${say("step")} ${step}: ${why}`)),
  ];
  return lines.length ? make("ul", { class: "note" }, lines.map((line) => make("li", {}, foreign(line)))) : null;
}
