// Filters above a table of scores.

import { make, say } from "./elements.js";

/** A box for words and one for all metrics, which filter a table of scores by its rows' words. */
export function scoreControls(table, status, wordsOf) {
  const words = make("input", { type: "search", placeholder: say("filter_tasks"), "aria-label": say("filter_tasks"), id: "task-filter" });
  const all = make("input", { type: "checkbox", id: "all-metrics" });
  const apply = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    table.filter = (row) => (all.checked || row.first) && wanted.every((word) => wordsOf(row).toLowerCase().includes(word));
    table.draw();
  };
  words.addEventListener("input", apply);
  all.addEventListener("change", apply);
  table.element.prepend(make("div", { class: "controls" }, words, make("label", { for: "all-metrics" }, all, " ", say("all_metrics")), status));
  table.element.append(make("p", { class: "note" }, say("interval_note")));
  apply();
}
