// A sweep on a budget: scores over all prompts, where each lies, and which choices in the wording matter.

import { foreign, make, say } from "./elements.js";
import { bare, count, interval, percent, probability, score, signed, span } from "./numbers.js";
import { Table } from "./table.js";
import { figure } from "./figure.js";
import { samplesLink } from "./cells.js";
import { metricName, whisker } from "./whisker.js";

const [FEW, MANY] = [8, 20];
const MOST_INSIDE = 0.2;

export function distributionPart(found, run, at, followed) {
  return make(
    "section",
    { class: "distribution" },
    make("h2", {}, foreign(found.task), make("span", { class: "version" }, ` ${found.version} · `), metricName({ name: found.metric, up: found.higher_is_better })),
    make("p", {}, say("distribution_note", { prompts: count(found.prompts), documents: count(found.documents), asked: count(found.cost.asked), full: count(found.cost.full), share: percent(found.cost.asked / found.cost.full) })),
    facts(found),
    figure(`distribution-${run + 1}-${at + 1}`),
    quantileTable(found).element,
    found.gap ? make("p", { class: "caution" }, gapNote(found)) : null,
    make("h3", {}, say("places_heading")),
    make("p", { class: "note" }, say("places_note")),
    placeTable(found, run).element,
    found.effects.length ? [make("h3", {}, say("effects_heading")), make("p", { class: "note" }, say("effects_note", { n: count(found.effects.length) })), effectTable(found, run).element] : null,
    make("h3", {}, say("advice_heading")),
    make("ul", { class: "conclusions" }, [followed ? null : say("not_a_choice"), advice(found)].filter(Boolean).map((line) => make("li", {}, line))),
  );
}

// Some draws have a gap that the estimates of single prompts do not show.
function gapNote(found) {
  const [low, high] = found.gap;
  const inside = found.places.filter((place) => place.value > low && place.value < high).length;
  if (inside > MOST_INSIDE * found.places.length) return say("gap_maybe");
  return say("gap_note", { low: score(low, found.unit), high: score(high, found.unit) });
}

function facts(found) {
  const unit = found.unit;
  const lines = [
    say("prompts_mean", { mean: score(found.mean.value, unit), interval: interval(found.mean, unit) }),
    !found.mean_here.stderr ? null : say("prompts_mean_here", { interval: interval(found.mean_here, unit) }),
    say("prompts_spread", { spread: bare(found.spread.value, unit), interval: span(found.spread.low, found.spread.high, unit) }),
    found.failed ? say("prompts_failed", { n: count(found.failed) }) : null,
  ];
  return make("ul", { class: "conclusions" }, lines.filter(Boolean).map((line) => make("li", {}, line)));
}

function quantileName(share) {
  if (share === 0) return say("quantile_lowest");
  if (share === 1) return say("quantile_highest");
  return share === 0.5 ? say("quantile_median") : say("quantile_below", { share: percent(share) });
}

function quantileTable(found) {
  const unit = found.unit;
  return new Table(say("quantiles"), [
    { label: say("of_the_prompts"), value: (row) => row.share, show: (row) => quantileName(row.share), plain: (row) => quantileName(row.share) },
    { label: say("value"), number: true, class: "value", value: (row) => row.value, show: (row) => score(row.value, unit), plain: (row) => bare(row.value, unit) },
    { label: say(found.simultaneous ? "band" : "interval"), number: true, class: "interval", value: (row) => row.low, show: (row) => span(row.low, row.high, unit), plain: (row) => span(row.low, row.high, unit) },
  ], found.quantiles, { hideCaption: true });
}

/** Show the chosen rows of a table, and all of them on demand. */
function withAll(table, id, label, chosen) {
  const all = make("input", { type: "checkbox", id });
  const apply = () => {
    table.filter = (row) => all.checked || chosen(row);
    table.draw();
  };
  all.addEventListener("change", apply);
  table.element.prepend(make("div", { class: "controls" }, make("label", { for: id }, all, " ", label)));
  apply();
  return table;
}

function placeTable(found, run) {
  const unit = found.unit;
  const name = (row) => row.name;
  const rank = (row) => `${percent(row.rank)} (${percent(row.rank_low)} – ${percent(row.rank_high)})`;
  const table = new Table(say("places_heading"), [
    { label: say("template"), value: name, show: (row) => make("span", { title: row.format ? Object.entries(row.format).map(([dimension, level]) => `${dimension}: ${level}`).join("\n") : null }, make("a", { href: samplesLink(run, `${row.id}@part`) }, foreign(name(row))), row.published ? make("span", { class: "badge" }, say("published")) : null), plain: name },
    { label: say("asked_documents"), number: true, value: (row) => row.n, show: (row) => count(row.n), plain: (row) => row.n },
    { label: say("value"), number: true, class: "value", value: (row) => row.value, show: (row) => score(row.value, unit), plain: (row) => bare(row.value, unit) },
    { label: "", spoken: say("plot"), class: "plot", show: (row) => whisker({ ...row, name: found.metric, unit }) },
    { label: say("interval"), number: true, class: "interval", value: (row) => row.low, show: (row) => span(row.low, row.high, unit), plain: (row) => span(row.low, row.high, unit) },
    { label: say("above_others"), number: true, value: (row) => row.rank, show: rank, plain: rank },
  ], found.places, { class: "scores", hideCaption: true });
  if (found.places.length <= MANY || !found.places.some((place) => place.published)) return table;
  return withAll(table, `all-prompts-${run}-${found.task}`, say("all_prompts", { n: count(found.places.length) }), (row) => row.published);
}

function effectTable(found, run) {
  const digits = found.unit ? 2 : 3;
  const rows = [...found.effects].sort((a, b) => a.p_value - b.p_value || Math.abs(b.effect) - Math.abs(a.effect));
  const table = new Table(say("effects_heading"), [
    { label: say("dimension"), value: (row) => row.dimension, show: (row) => row.dimension, plain: (row) => row.dimension },
    { label: say("level"), value: (row) => row.level, show: (row) => foreign(row.level, null, "span", { class: "mono" }), plain: (row) => row.level },
    { label: say("prompts_count"), number: true, value: (row) => row.prompts, show: (row) => count(row.prompts), plain: (row) => row.prompts },
    { label: say("effect"), number: true, class: "value", value: (row) => row.effect, show: (row) => signed(row.effect, digits), plain: (row) => signed(row.effect, digits) },
    { label: say("interval"), number: true, class: "interval", value: (row) => row.low, show: (row) => span(row.low, row.high, found.unit), plain: (row) => span(row.low, row.high, found.unit) },
    { label: say("p_holm"), number: true, value: (row) => row.p_value, show: (row) => make("span", { class: row.p_value < 0.05 ? "some-effect" : "none" }, probability(row.p_value)), plain: (row) => probability(row.p_value) },
  ], rows, { class: "scores", hideCaption: true });
  if (rows.length <= MANY) return table;
  return withAll(table, `all-effects-${run}-${found.task}`, say("all_effects", { n: count(rows.length) }), (row) => row.p_value < 0.05 || rows.indexOf(row) < FEW);
}

function advice(found) {
  const { per_document: price, whole, target, plans } = found.advice;
  const reach = bare(target, found.unit);
  if (price === null) return say("advice_none", { n: plans.at(-1).per_document, target: reach });
  return say(whole ? "advice_whole" : "advice_budget", { n: price, target: reach });
}
