// Consistency: the same items in several languages and answer modes.

import { foreign, make, say, scroller } from "./elements.js";
import { count, interval, letter, percent, probability, signed } from "./numbers.js";
import { RUNS, SUMMARY, samplesLink } from "./cells.js";
import { Table } from "./table.js";
import { figure } from "./figure.js";
import { languageMaps, mapTable } from "./language_map.js";
import { notices } from "./runs.js";
import { whisker } from "./whisker.js";

const share = (row) => (row ? percent(row.value, 1) : "–");
const between = (row, sign = false) => (row && row.low !== null && row.low !== undefined ? `[${sign ? signed(100 * row.low, 1) : (100 * row.low).toFixed(1)}, ${sign ? signed(100 * row.high, 1) : (100 * row.high).toFixed(1)}]` : interval(row));
const coefficient = (row) => (row.low === null || row.high === null ? interval(row) : `[${row.low.toFixed(2)}, ${row.high.toFixed(2)}]`);

export function languagesView() {
  const several = SUMMARY.consistency.length > 1;
  const map = languageMaps();
  const parts = SUMMARY.consistency.flatMap((document, at) => [
    several ? make("h2", { class: "of-runs" }, foreign((document.runs || []).map((run) => run.name).join(", "))) : null,
    at === 0 ? make("p", {}, say("languages_note")) : null,
    document.error ? make("p", { class: "caution" }, foreign(document.error)) : null,
    ...Object.entries(document.sets || {}).map(([id, found]) => setPart(id, found, document, at)),
    ...(document.modes || []).map((modes) => modesPart(modes)),
  ]);
  return [make("div", { class: "notices" }, notices()), map.length ? mapTable(map) : null, ...parts];
}

function setPart(id, found, document, at) {
  return make(
    "section",
    {},
    make("h2", {}, foreign(id), make("span", { class: "version" }, ` · ${say("items_count", { n: found.items })}`)),
    answerTable(found, document.reference).element,
    found.reach ? make("p", { class: "note" }, (found.reach.accuracy_half_width ?? null) === null ? say("precision_too_few", { n: found.items }) : say("precision_note", { n: found.items, half: Math.round(100 * found.reach.accuracy_half_width) })) : null,
    figure(`languages-${at + 1}-${id}`),
    make("h3", {}, say("agreement")),
    everywhere(found),
    matrix(found),
    found.positions && Object.keys(found.positions).length ? [make("h3", {}, say("positions")), make("p", { class: "note" }, say("positions_note")), positionTable(found).element, figure(`positions-${at + 1}-${id}`)] : null,
    found.flips?.length ? [make("h3", {}, say("flips", { n: found.flips.length, all: found.items })), flipTable(found, id).element] : null,
  );
}

function answerTable(found, reference) {
  const rows = Object.entries(found.answers).map(([language, row]) => ({ language, row, gap: found.gaps?.[language] ?? null }));
  const gaps = found.gaps
    ? [
        { label: say("gap_to", { reference }), number: true, value: (one) => one.gap?.difference ?? null, show: (one) => (one.gap ? signed(100 * one.gap.difference, 1) : "–"), plain: (one) => (one.gap ? signed(100 * one.gap.difference, 1) : "") },
        { label: say("interval"), number: true, class: "interval", show: (one) => between(one.gap, true), plain: (one) => between(one.gap, true) },
        { label: say("p_holm"), number: true, value: (one) => one.gap?.p_holm ?? null, show: (one) => (one.gap ? probability(one.gap.p_holm) : ""), plain: (one) => (one.gap ? probability(one.gap.p_holm) : "") },
      ]
    : [];
  return new Table(say("by_language"), [
    { label: say("language"), value: (one) => one.language, show: (one) => foreign(one.language), plain: (one) => one.language },
    { label: say("right_share"), number: true, class: "value", value: (one) => one.row.accuracy?.value, show: (one) => share(one.row.accuracy), plain: (one) => share(one.row.accuracy) },
    { label: "", spoken: say("plot"), class: "plot", show: (one) => whisker({ ...one.row.accuracy, name: "share", unit: "", up: true }) },
    { label: say("interval"), number: true, class: "interval", value: (one) => one.row.accuracy?.low, show: (one) => between(one.row.accuracy), plain: (one) => between(one.row.accuracy) },
    ...gaps,
    { label: say("unreadable"), number: true, value: (one) => one.row.unreadable, show: (one) => count(one.row.unreadable), plain: (one) => one.row.unreadable },
    { label: say("failed"), number: true, value: (one) => one.row.failed, show: (one) => count(one.row.failed), plain: (one) => one.row.failed },
  ], rows, { class: "scores", hideCaption: true });
}

function everywhere(found) {
  const lines = [["agreement", "two_agree"], ["same_everywhere", "same_everywhere"], ["right_everywhere", "right_everywhere"], ["right_nowhere", "right_nowhere"]]
    .filter(([name]) => found[name]?.n)
    .map(([name, key]) => [say(key), `${share(found[name])} ${between(found[name])}`, found[name].by_chance === null || found[name].by_chance === undefined ? "" : say("by_chance", { value: percent(found[name].by_chance, 1) })]);
  if (found.alpha) lines.push([say("alpha"), `${found.alpha.value.toFixed(2)} ${coefficient(found.alpha)}`, ""]);
  return make("dl", { class: "facts" }, lines.map(([name, value, note]) => make("div", {}, make("dt", {}, name), make("dd", {}, value, note ? make("span", { class: "note" }, ` ${note}`) : null))));
}

/** Share of equal answers below the diagonal, Cohen's kappa above. */
function matrix(found) {
  const names = found.languages;
  const pairs = new Map(found.pairs.map((pair) => [pair.languages.join("\n"), pair]));
  const cell = (down, across) => {
    if (down === across) return make("td", { class: "none" }, "·");
    const pair = pairs.get([names[Math.min(down, across)], names[Math.max(down, across)]].join("\n"));
    const entry = down > across ? pair?.agreement : pair?.kappa;
    const made = make("td", { title: entry ? (down > across ? between(entry) : coefficient(entry)) : "" }, !entry || entry.value === null ? "–" : down > across ? (100 * entry.value).toFixed(0) : entry.value.toFixed(2));
    if (entry && entry.value !== null) made.style.background = `color-mix(in srgb, var(--accent) ${Math.round(30 * Math.max(0, entry.value))}%, transparent)`;
    return made;
  };
  return scroller(
    say("matrix_caption"),
    make("table", { class: "heat" }, make("caption", {}, say("matrix_caption")), make("thead", {}, make("tr", {}, make("td", {}), names.map((name) => make("th", { scope: "col", class: "number" }, foreign(name))))), make("tbody", {}, names.map((name, down) => make("tr", {}, make("th", { scope: "row" }, foreign(name)), names.map((_, across) => cell(down, across)))))),
  );
}

function positionTable(found) {
  const size = Math.max(...Object.values(found.positions).map((row) => row.chosen.length));
  const rows = Object.entries(found.positions).map(([language, row]) => ({ language, row }));
  const columns = Array.from({ length: size }, (_, at) => ({
    label: letter(at),
    number: true,
    value: (one) => one.row.chosen[at] / one.row.n,
    show: (one) => make("span", {}, percent((one.row.chosen[at] ?? 0) / one.row.n), make("span", { class: "interval" }, ` (${percent((one.row.gold[at] ?? 0) / one.row.gold.reduce((a, b) => a + b, 0))})`)),
    plain: (one) => percent((one.row.chosen[at] ?? 0) / one.row.n),
  }));
  return new Table(say("positions"), [
    { label: say("language"), value: (one) => one.language, show: (one) => foreign(one.language), plain: (one) => one.language },
    ...columns,
    { label: say("distance"), number: true, value: (one) => one.row.distance, show: (one) => `${one.row.distance.toFixed(2)} (${one.row.chance_distance.toFixed(2)})`, plain: (one) => one.row.distance.toFixed(3) },
    { label: say("p_holm"), number: true, value: (one) => one.row.p_holm, show: (one) => probability(one.row.p_holm), plain: (one) => probability(one.row.p_holm) },
  ], rows, { hideCaption: true });
}

function flipTable(found, id) {
  const missing = (flip, language) => (flip.failed.includes(language) ? ["!", say("failed")] : ["?", say("unreadable")]);
  const tag = (flip, language) => {
    const answer = flip.answers[language] ?? null;
    const [mark, meaning] = answer === null ? missing(flip, language) : [answer, null];
    const cell = RUNS.flatMap((run, r) => run.cells.map((one) => [r, one])).find(([, one]) => one.language === language && one.samples && id.startsWith(one.task.slice(0, one.task.length - language.length - 1)));
    const text = make("span", { class: answer === flip.gold ? "state-r" : "state-w", title: meaning }, foreign(mark));
    return cell ? make("a", { class: "bare", href: samplesLink(cell[0], cell[1].id, { text: flip.item.replace(/^row-/, "") }) }, text) : text;
  };
  return new Table(say("flips_caption"), [
    { label: say("item"), value: (flip) => flip.item, show: (flip) => foreign(flip.item, null, "span", { class: "mono" }), plain: (flip) => flip.item },
    { label: say("gold"), value: (flip) => flip.gold, show: (flip) => foreign(flip.gold), plain: (flip) => flip.gold },
    ...found.languages.map((language) => ({ label: language, show: (flip) => tag(flip, language), plain: (flip) => flip.answers[language] ?? missing(flip, language)[0] })),
    { label: say("right_in"), number: true, value: (flip) => flip.right, show: (flip) => String(flip.right), plain: (flip) => flip.right },
  ], found.flips.slice(0, 60), { hideCaption: true });
}

function modesPart(modes) {
  const rows = Object.entries(modes.languages).map(([language, row]) => ({ language, row }));
  const counted = (name, label) => ({ label: say(label), number: true, value: (one) => one.row[name], show: (one) => count(one.row[name]), plain: (one) => one.row[name] });
  return make(
    "section",
    {},
    make("h2", {}, say("modes")),
    make("p", { class: "note" }, foreign(`${modes.choice} / ${modes.generation}`), " – ", say("modes_note")),
    new Table(say("modes"), [
      { label: say("language"), value: (one) => one.language, show: (one) => foreign(one.language), plain: (one) => one.language },
      counted("items", "items"),
      counted("unreadable", "unreadable"),
      { label: say("same_answer"), number: true, value: (one) => one.row.agreement?.value, show: (one) => share(one.row.agreement), plain: (one) => share(one.row.agreement) },
      { label: say("interval"), number: true, class: "interval", show: (one) => between(one.row.agreement), plain: (one) => between(one.row.agreement) },
      counted("right_both", "both_right"),
      counted("right_choice_only", "choice_right"),
      counted("right_generation_only", "text_right"),
      counted("right_neither", "none_right"),
      { label: say("p_holm"), number: true, value: (one) => one.row.difference?.p_holm, show: (one) => probability(one.row.difference?.p_holm), plain: (one) => probability(one.row.difference?.p_holm) },
    ], rows, { hideCaption: true }).element,
  );
}
