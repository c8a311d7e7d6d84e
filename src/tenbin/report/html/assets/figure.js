// Charts, rendered to SVG when the page was built and shown as images, in which no script can run.

import { make, say, scroller } from "./elements.js";
import { readOnce } from "./blocks.js";
import { SUMMARY } from "./cells.js";

/** Whether the page is dark, by the reader's choice or the system's setting. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

const shown = new Set();

/** Redraw the figures on the page after a change of theme. */
export function redrawFigures() {
  for (const figure of [...shown]) {
    if (figure.isConnected) figure.draw();
    else shown.delete(figure);
  }
}

/** A chart by name; null if the page has none of that name. */
export function figure(name) {
  const chart = SUMMARY.charts?.[name];
  if (!chart) return null;
  const picture = make("img", { alt: chart.description, width: chart.width, height: chart.height, decoding: "async" });
  const element = make("figure", { class: "chart" }, scroller(chart.title, picture), make("figcaption", {}, chart.title, chart.note ? make("span", { class: "note" }, ` ${chart.note}`) : null));
  element.draw = async () => {
    const svg = await readOnce(isDark() ? chart.dark : chart.light);
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  };
  shown.add(element);
  element.draw();
  return element;
}
