// The headline of a run: a card for each group and task, with its score, interval, n and chance.

import { foreign, make, say } from "./elements.js";
import { bare, count, score, span } from "./numbers.js";
import { RUNS, chanceOf, groupChance, samplesLink } from "./cells.js";
import { metricName, whisker } from "./whisker.js";

const MOST_CARDS = 8;

/** Groups first, then tasks; the members of groups only where all cards have room. */
export function headline(run) {
  const { cells, groups } = RUNS[run];
  const scored = cells.filter((cell) => cell.role === "score" && cell.metrics.length);
  const several = (cell) => scored.filter((one) => one.task === cell.task && one.version === cell.version).length > 1;
  const inGroup = new Set(groups.flatMap((group) => group.members));
  const means = groups.filter((group) => group.metrics.length);
  const once = scored.filter((cell) => !several(cell));
  // A sweep has no headline of single prompts; beside other tasks, each way of asking one has its card.
  const tasks = means.length + once.length ? [...once, ...scored.filter(several)] : [];
  const alone = tasks.filter((cell) => !inGroup.has(cell.id));
  const chosen = means.length + tasks.length > MOST_CARDS ? alone : [...alone, ...tasks.filter((cell) => inGroup.has(cell.id))];
  const cards = [...means.map((group) => groupCard(run, group)), ...chosen.map((cell) => taskCard(run, cell))].slice(0, MOST_CARDS);
  if (!cards.length) return [];
  const left = means.length + tasks.length - cards.length;
  return [
    make("ul", { class: "cards", "aria-label": say("headline_cards") }, cards),
    left > 0 ? make("p", { class: "note" }, say("more_in_table", { n: left })) : null,
  ];
}

function groupCard(run, group) {
  const name = [foreign(group.id), make("span", { class: "kind" }, say("group_tasks", { n: group.members.length }))];
  return card(name, group.metrics[0], groupChance(run, group));
}

function taskCard(run, cell) {
  const about = [cell.template && cell.template !== "default" ? cell.template : null, cell.shots ? say("shots_of", { n: cell.shots }) : null];
  const name = [make("a", { href: samplesLink(run, cell.id) }, foreign(cell.task)), make("span", { class: "kind" }, foreign(about.filter(Boolean).join(", ")))];
  return card(name, cell.metrics[0], cell.samples?.chance ?? null);
}

function card(name, metric, guessed) {
  const chance = chanceOf(metric, guessed);
  const known = chance === null ? null : chance * (metric.unit === "%" ? 100 : 1);
  const within = known !== null && metric.low !== null && metric.low <= known && known <= metric.high;
  return make(
    "li",
    { class: "card" },
    make("p", { class: "card-name" }, name),
    make("p", { class: "card-score" }, make("strong", {}, score(metric.value, metric.unit)), " ", metricName(metric)),
    whisker(metric, chance),
    make("p", { class: "card-note" }, make("span", { title: say("interval") }, metric.low === null ? say("too_few_documents") : span(metric.low, metric.high, metric.unit)), make("span", {}, `n ${count(metric.n)}`), known === null ? null : make("span", { class: within ? "within" : null, title: within ? say("chance_within") : null }, say("chance_is", { value: bare(known, metric.unit) })), metric.failed ? make("span", { class: "some" }, `${say("failed")} ${count(metric.failed)}`) : null),
  );
}
