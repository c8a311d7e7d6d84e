// A score with its interval on a scale from 0 to the full score, as a dot on a line.

import { foreign, make, say } from "./elements.js";
import { chanceOf } from "./cells.js";

/** One score; a tick at chance level. */
export function whisker(metric, chance = null) {
  return whiskers([{ metric, chance, run: null }]);
}

/** The scores of several runs, one below the other: [{metric, chance, run}]. */
export function whiskers(entries) {
  const box = make("span", { class: entries.length > 1 ? "whisker lanes" : "whisker", "aria-hidden": "true" });
  const shown = entries.filter(({ metric }) => metric && onScale(metric));
  if (!shown.length) return make("span", { class: "whisker" });
  const chance = chanceOf(shown[0].metric, shown[0].chance);
  if (chance !== null) box.append(placed("chance", percentAt(shown[0].metric, chance * topOf(shown[0].metric))));
  for (const { metric, run } of entries) box.append(lane(metric, run));
  return box;
}

const topOf = (metric) => (metric.unit === "%" ? 100 : 1);
const onScale = (metric) => metric.value !== null && metric.value >= 0 && metric.value <= topOf(metric);
const percentAt = (metric, value) => (100 * Math.min(topOf(metric), Math.max(0, value))) / topOf(metric);

function lane(metric, run) {
  const line = make("span", { class: run === null ? "lane" : `lane ${runColour(run)}` });
  if (!metric || !onScale(metric)) return line;
  if (metric.low !== null) {
    const [low, high] = [percentAt(metric, metric.low), percentAt(metric, metric.high)];
    const bar = placed("line", low);
    bar.style.width = `${high - low}%`;
    line.append(bar);
  }
  line.append(placed("dot", percentAt(metric, metric.value)));
  return line;
}

function placed(name, percent) {
  const mark = make("span", { class: name });
  mark.style.insetInlineStart = `${percent}%`;
  return mark;
}

/** The class of a run's colour, of which there are eight. */
export function runColour(run) {
  return `run-${(run % 8) + 1}`;
}

const WEIGHTINGS = {
  "mean weighted by documents": () => say("weighted_by_documents"),
  "plain mean of its tasks": () => say("mean_of_its_tasks"),
  "plain mean of its parts' means": () => say("mean_of_its_parts"),
};

/** How the members of a group count, in the reader's language where results say it in known words. */
export function weightingName(text) {
  return WEIGHTINGS[text]?.() ?? text;
}

/** `acc ↑`; the arrow says which way is better. */
export function metricName(metric) {
  return make("span", {}, foreign(metric.name, null, "span", { class: "mono" }), make("span", { class: "direction", title: say(metric.up ? "higher_better" : "lower_better") }, metric.up ? " ↑" : " ↓"));
}
