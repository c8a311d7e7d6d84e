// Option order: recall by position, the mean over all orders, and scores without the preference.

import { foreign, make, say } from "./elements.js";
import { bare, count, interval, percent, probability, score, signed, span } from "./numbers.js";
import { SUMMARY, samplesLink } from "./cells.js";
import { Table } from "./table.js";
import { figure } from "./figure.js";
import { runHeading } from "./runs.js";
import { metricName } from "./whisker.js";

export function orderView() {
  return SUMMARY.orders.flatMap((found, run) =>
    found
      ? [
          runHeading(run),
          make("p", {}, say("order_note")),
          ...found.templates.map((one, at) => orderPart(one, run, at)),
          found.notes.length ? make("ul", { class: "note" }, found.notes.map((note) => make("li", {}, foreign(note)))) : null,
        ]
      : [],
  );
}

function orderPart(found, run, at) {
  return make(
    "section",
    { class: "order" },
    make("h2", {}, make("a", { href: samplesLink(run, found.id) }, foreign(found.id)), " · ", metricName({ name: found.metric, up: true })),
    make("p", { class: "note" }, say(found.complete < found.documents ? "order_documents_partly" : "order_documents", { n: count(found.complete), orders: found.options, more: count(found.documents - found.complete) })),
    figure(`order-${run + 1}-${at + 1}`),
    orderTable(found).element,
    orderConclusions(found),
  );
}

function orderTable(found) {
  const column = (label, pick) => ({ label, number: true, value: (row) => pick(row)?.value ?? null, show: (row) => make("span", {}, score(pick(row)?.value), make("span", { class: "interval" }, ` ${interval(pick(row))}`)), plain: (row) => `${bare(pick(row)?.value)} ${interval(pick(row))}` });
  return new Table(say("order_positions"), [
    { label: say("order_position"), value: (row) => row.position, show: (row) => row.position, plain: (row) => row.position },
    column(say("order_chosen"), (row) => row.chosen),
    column(say("order_recall"), (row) => row.recall),
    found.removed ? column(say("order_chosen_after"), (row) => row.chosen_after) : null,
    found.removed ? column(say("order_recall_after"), (row) => row.recall_after) : null,
  ].filter(Boolean), found.positions, { class: "scores", hideCaption: true });
}

function orderSpread(found) {
  return found.low === null ? bare(found.deviation) : `${bare(found.deviation)} ${span(found.low, found.high)}, p ${found.p_value < 0.001 ? "" : "= "}${probability(found.p_value)}`;
}

function orderChange(found) {
  return found.low === null ? signed(found.value) : `${signed(found.value)} [${signed(found.low)}, ${signed(found.high)}]`;
}

function orderConclusions(found) {
  const shown = found.recall_spread.p_value !== null && found.recall_spread.p_value < 0.05;
  const lines = [
    say(shown ? "order_depends" : "order_not_shown", { spread: orderSpread(found.recall_spread) }),
    say("order_scores", { asked: score(found.as_asked.value), asked_interval: interval(found.as_asked), mean: score(found.mean.value), mean_interval: interval(found.mean), change: orderChange(found.from_order) }),
    say("order_same", { option: percent(found.same_option.value), position: percent(found.same_position.value) }),
  ];
  const removed = found.removed;
  if (removed) {
    const prior = removed.prior.map((share) => share.toFixed(2)).join(" ");
    lines.push(say("order_prior", { prior, n: count(removed.prior_documents), score: score(removed.score.value), interval: interval(removed.score), change: orderChange(removed.gain), spread: orderSpread(removed.recall_spread) }));
  }
  if (found.combined) lines.push(say("order_combined", { score: score(found.combined.value), interval: interval(found.combined) }));
  if (found.left_out) lines.push(say("order_left_out", { n: count(found.left_out) }));
  return make("ul", { class: "conclusions" }, lines.map((line) => make("li", {}, line)));
}
