// Everything needed to reproduce a run: command, hashes, files, seeds, settings, versions.

import { copyButton, foreign, make, say } from "./elements.js";
import { count } from "./numbers.js";
import { readOnce } from "./blocks.js";
import { RUNS } from "./cells.js";
import { runHeading } from "./runs.js";
import { Table } from "./table.js";

export function detailsView() {
  return RUNS.map((run, at) => {
    const place = make("section", { class: "details-run" }, runHeading(at));
    place.append(
      make("h2", {}, say("repeat")),
      make("p", { class: "note" }, say("repeat_note")),
      make("pre", { class: "command", tabindex: "0", role: "group", "aria-label": say("repeat"), dir: "ltr" }, run.command),
      copyButton(say("copy_command"), () => run.command),
      make("h2", {}, say("warnings")),
      run.warnings.length ? make("ul", { class: "warnings" }, run.warnings.map((line) => make("li", {}, foreign(line)))) : make("p", { class: "note" }, say("no_warnings")),
      failures(run),
    );
    readOnce(run.details).then((document) => place.append(...rest(document)));
    return place;
  });
}

function failures(run) {
  const rows = run.cells.flatMap((cell) => cell.failures.map(([reason, number]) => ({ cell, reason, number })));
  if (!rows.length) return make("p", { class: "note" }, say("no_failures"));
  return new Table(say("failures"), [
    { label: say("task"), value: (row) => row.cell.id, show: (row) => foreign(row.cell.id), plain: (row) => row.cell.id },
    { label: say("reason"), value: (row) => row.reason, show: (row) => foreign(row.reason), plain: (row) => row.reason },
    { label: say("count"), number: true, value: (row) => row.number, show: (row) => count(row.number), plain: (row) => row.number },
  ], rows).element;
}

function rest(document) {
  return [
    make("h2", {}, say("prompts")),
    make("p", { class: "note" }, say("prompts_note")),
    promptTable(document),
    make("h2", {}, say("data")),
    make("p", { class: "note" }, say("data_note")),
    dataTable(document),
    ...originSection(document),
    make("h2", {}, say("model_and_engine")),
    pairs({ fingerprint: document.fingerprint, ...document.model }),
    make("h2", {}, say("settings")),
    pairs(document.config || {}),
    make("h2", {}, say("versions")),
    pairs({ tenbin: document.tenbin_version, git: document.git_hash, profile: document.profile, schema: document.schema_version, ...document.libraries }),
    make("h2", {}, say("task_configs")),
    make("p", { class: "note" }, say("task_configs_note")),
    ...Object.entries(document.configs || {}).map(([id, config]) => make("details", { class: "wording" }, make("summary", {}, foreign(id, null, "span", { class: "mono" })), pairs(config))),
  ];
}

function promptTable(document) {
  const rows = Object.entries(document.prompts || {}).map(([id, entry]) => ({ id, ...entry, seed: document.configs?.[id]?.seed, samples: document["n-samples"]?.[id] }));
  const short = (hash) => make("span", { class: "mono", title: hash }, String(hash ?? "–").slice(0, 12));
  return new Table(say("prompts"), [
    { label: say("task"), value: (row) => row.id, show: (row) => foreign(row.id), plain: (row) => row.id },
    { label: say("asked_of"), number: true, value: (row) => row.samples?.effective, show: (row) => `${count(row.samples?.effective)} / ${count(row.samples?.original)}`, plain: (row) => `${row.samples?.effective} / ${row.samples?.original}` },
    { label: say("seed"), number: true, value: (row) => row.seed, show: (row) => String(row.seed ?? "–"), plain: (row) => row.seed },
    { label: say("prompts_hash"), show: (row) => short(row.prompts_hash), plain: (row) => row.prompts_hash },
    { label: say("template_hash"), show: (row) => short(row.template_hash), plain: (row) => row.template_hash },
    { label: say("dropped_examples"), number: true, value: (row) => row.dropped_examples, show: (row) => count(row.dropped_examples), plain: (row) => row.dropped_examples },
    { label: say("truncated_documents"), number: true, value: (row) => row.truncated_documents, show: (row) => count(row.truncated_documents), plain: (row) => row.truncated_documents },
  ], rows, { hideCaption: true }).element;
}

function dataTable(document) {
  const rows = Object.entries(document.data || {}).flatMap(([id, splits]) => Object.entries(splits).flatMap(([split, files]) => files.map((file) => ({ id, split, file }))));
  return new Table(say("data"), [
    { label: say("task"), value: (row) => row.id, show: (row) => foreign(row.id), plain: (row) => row.id },
    { label: say("split"), value: (row) => row.split, show: (row) => foreign(row.split), plain: (row) => row.split },
    { label: say("rows"), number: true, value: (row) => row.file.rows, show: (row) => count(row.file.rows), plain: (row) => row.file.rows },
    { label: say("source"), value: (row) => row.file.source, show: (row) => foreign(row.file.source), plain: (row) => row.file.source },
    { label: say("data_version"), value: (row) => row.file.version, show: (row) => foreign(row.file.version ?? "–"), plain: (row) => row.file.version ?? "" },
    { label: say("verified"), value: (row) => String(row.file.verified), show: (row) => (row.file.verified ? say("yes") : say("no")), plain: (row) => row.file.verified },
    { label: "SHA-256", show: (row) => make("span", { class: "mono", title: row.file.sha256 }, String(row.file.sha256).slice(0, 12)), plain: (row) => row.file.sha256 },
    { label: say("file"), show: (row) => foreign(String(row.file.path).split("/").slice(-3).join("/"), null, "span", { class: "mono", title: row.file.path }), plain: (row) => row.file.path },
  ], rows, { hideCaption: true }).element;
}

/** Files and functions of lm-eval tasks; nothing for a run without any. */
function originSection(document) {
  const rows = Object.entries(document.configs || {}).filter(([, config]) => config.origin).map(([id, config]) => ({ id, origin: config.origin }));
  if (!rows.length) return [];
  const short = (hash) => make("span", { class: "mono", title: hash }, String(hash || "–").slice(0, 12));
  const called = (one) => `${String(one.file).split("/").pop()}: ${one.name}`;
  const hashed = (one) => `${called(one)} ${String(one.sha256).slice(0, 12)}`;
  return [
    make("h2", {}, say("task_files")),
    make("p", { class: "note" }, say("task_files_note")),
    new Table(say("task_files"), [
      { label: say("task"), value: (row) => row.id, show: (row) => foreign(row.id), plain: (row) => row.id },
      { label: say("package"), value: (row) => row.origin.package, show: (row) => foreign(row.origin.package ?? "–"), plain: (row) => row.origin.package ?? "" },
      { label: "SHA-256", show: (row) => short(row.origin.sha256), plain: (row) => row.origin.sha256 },
      { label: say("file"), show: (row) => foreign(String(row.origin.path).split("/").slice(-3).join("/"), null, "span", { class: "mono", title: row.origin.path }), plain: (row) => row.origin.path },
      { label: say("functions"), show: (row) => foreign((row.origin.functions || []).map(hashed).join(", ") || "–", null, "span", { class: "mono" }), plain: (row) => (row.origin.functions || []).map((one) => `${called(one)} ${one.sha256}`).join(", ") },
    ], rows, { hideCaption: true }).element,
  ];
}

function pairs(values) {
  const shown = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && !value.length));
  return make("dl", { class: "pairs" }, shown.map(([name, value]) => make("div", {}, make("dt", {}, foreign(name, null, "span", { class: "mono" })), make("dd", {}, typeof value === "object" ? foreign(JSON.stringify(value, null, 1), null, "pre") : /\n/.test(String(value)) ? foreign(value, null, "pre") : foreign(value)))));
}
