// Header, navigation, keyboard shortcuts, and the view that the address names.

import { announce, fill, foreign, make, say } from "./elements.js";
import { RUNS, SUMMARY } from "./cells.js";
import { isDark, redrawFigures } from "./figure.js";
import { overviewView } from "./overview.js";
import { templatesView } from "./templates.js";
import { orderView } from "./order.js";
import { languageMaps } from "./language_map.js";
import { languagesView } from "./languages.js";
import { compareView } from "./compare.js";
import { curveView } from "./curve.js";
import { SamplesView } from "./samples.js";
import { detailsView } from "./details.js";
import { liveView } from "./live.js";
import { leaderboardView, openPrompt } from "./leaderboard.js";
import { historyView } from "./history.js";

// Several models are looked at together first; a single one, or what cannot be ranked, on its own.
const BOARD_FIRST = SUMMARY.stored > 1 || SUMMARY.leaderboard?.report?.models.length > 1;
const VIEWS = [
  BOARD_FIRST ? ["leaderboard", leaderboardView] : null,
  SUMMARY.listing ? ["runs", liveView] : null,
  SUMMARY.curve ? ["curve", curveView] : null,
  SUMMARY.stored > 1 ? ["history", historyView] : null,
  RUNS.length ? ["overview", overviewView] : null,
  SUMMARY.sweeps?.some(Boolean) ? ["templates", templatesView] : null,
  SUMMARY.orders?.some(Boolean) ? ["order", orderView] : null,
  SUMMARY.consistency?.length || languageMaps().length ? ["languages", languagesView] : null,
  SUMMARY.comparison ? ["compare", compareView] : null,
  RUNS.length ? ["samples", null] : null,
  SUMMARY.leaderboard?.histories.length ? ["history", historyView] : null,
  RUNS.length ? ["details", detailsView] : null,
  SUMMARY.leaderboard && !BOARD_FIRST ? ["leaderboard", leaderboardView] : null,
].filter(Boolean);

/** Runs beyond which a page is wider, for their columns. */
const MANY_RUNS = 4;

/** Cells of a run whose templates, shots or seeds stand in the matrix of a sweep; all of one on a budget. */
function sweptCells(run) {
  const sweep = SUMMARY.sweeps?.[run];
  if (!sweep) return 0;
  return sweep.distributions.length || sweep.error ? Infinity : sweep.tasks.flatMap((task) => task.options.flatMap((option) => option.ids)).length;
}

/** The view that a page opens on: a sweep on its matrix, a run over languages on their map. */
function openingView() {
  const mapped = languageMaps().reduce((sum, row) => sum + row.cells.size, 0);
  const scored = RUNS[0]?.cells.filter((cell) => cell.role === "score").length ?? 0;
  const single = RUNS.length === 1 && !SUMMARY.curve;
  const wanted = !single ? null : sweptCells(0) > scored / 2 ? "templates" : mapped > scored / 2 ? "languages" : null;
  return VIEWS.find(([name]) => name === wanted) ?? VIEWS[0];
}

const body = make("main", { id: "view", tabindex: "-1" });
const tabs = make("nav", { "aria-label": say("views") });
let samples = null;
let current = null;
/** The last address written by this page itself, for which no view is redrawn. */
let own = null;

function go(address, follow = true) {
  if (!follow) {
    own = address;
    history.replaceState(null, "", address);
  } else location.hash = address;
}

function show() {
  if (own !== null && own === location.hash) return;
  own = null;
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  if (name === "prompt") {
    openPrompt(query, (address) => location.replace(address));
    return;
  }
  const [view, draw] = VIEWS.find(([one]) => one === name) ?? openingView();
  const changed = current !== view;
  current = view;
  samples = null;
  if (view === "samples") {
    samples = new SamplesView(query ?? "", go);
    fill(body, make("h1", { class: "off-screen" }, say("view_samples")), samples.element);
  } else fill(body, make("h1", { class: "off-screen" }, say(`view_${view}`)), ...draw(query ?? "", go));
  document.body.dataset.view = view;
  document.body.dataset.runs = RUNS.length > MANY_RUNS ? "many" : "few";
  for (const link of tabs.querySelectorAll("a")) link.toggleAttribute("aria-current", false);
  tabs.querySelector(`[data-view="${view}"]`)?.setAttribute("aria-current", "page");
  if (changed) {
    scrollTo(0, 0);
    announce(say(`view_${view}`));
  }
}

function themeButton() {
  const button = make("button", { type: "button", class: "quiet theme", title: say("light_dark"), "aria-label": say("light_dark") }, "◐");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    redrawFigures();
  });
  return button;
}

function helpDialog() {
  const lines = [["1 – 9", say("key_views")], ["j, k", say("key_next")], ["↑ ↓ PgUp PgDn Home End", say("key_list")], ["/", say("key_search")], ["x", say("reveal")], ["f", say("unfold")], ["d", say("light_dark")], ["?", say("key_help")]];
  const dialog = make("dialog", { "aria-label": say("keys") }, make("h2", {}, say("keys")), make("dl", { class: "keys" }, lines.map(([key, text]) => make("div", {}, make("dt", {}, make("kbd", {}, key)), make("dd", {}, text)))));
  dialog.append(make("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, say("close")));
  return dialog;
}

const help = helpDialog();

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.target.closest?.("input, select, textarea, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const number = Number(event.key);
  if (number >= 1 && number <= VIEWS.length) go(`#/${VIEWS[number - 1][0]}`);
  else if (event.key === "?") help.showModal();
  else if (event.key === "d") document.querySelector(".theme").click();
  else samples?.key(event);
}

function start() {
  tabs.append(...VIEWS.map(([name]) => make("a", { href: `#/${name}`, "data-view": name }, say(`view_${name}`))));
  fill(
    document.getElementById("page"),
    make("a", { class: "skip", href: "#view", onclick: (event) => { event.preventDefault(); body.focus(); } }, say("skip")),
    make(
      "header",
      { class: "masthead" },
      SUMMARY.home ? make("a", { class: "brand", href: SUMMARY.home }, brand()) : make("p", { class: "brand" }, brand()),
      make("p", { class: "title" }, foreign(SUMMARY.title)),
      make("p", { class: "side" }, themeButton(), make("button", { type: "button", class: "quiet", "aria-label": say("keys"), title: say("keys"), onclick: () => help.showModal() }, "?")),
      tabs,
    ),
    body,
    make("footer", {}, make("p", {}, say(SUMMARY.listing || SUMMARY.home ? "footer_served" : "footer", { version: SUMMARY.tenbin_version ?? "" }))),
    make("div", { id: "announcements", class: "off-screen", role: "status", "aria-live": "polite" }),
    help,
  );
  addEventListener("hashchange", show);
  document.addEventListener("keydown", keys);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawFigures);
  show();
  document.documentElement.dataset.ready = "true";
}

function brand() {
  return [make("span", { lang: "ja", class: "sign" }, "天秤"), " tenbin"];
}

start();
