// Number formatting.

import { say } from "./elements.js";

/** A score: three decimals, or two with its unit. */
export function score(value, unit = "", digits = null) {
  if (value === null || value === undefined) return "–";
  return value.toFixed(digits ?? (unit ? 2 : 3)) + (unit ? `\u202f${unit}` : "");
}

/** A score without its unit. */
export function bare(value, unit = "") {
  return value === null || value === undefined ? "–" : value.toFixed(unit ? 2 : 3);
}

/** A score for copies: four decimals, or two of a percentage. */
export function bareFour(value, unit) {
  return value === null ? "–" : value.toFixed(unit ? 2 : 4);
}

/** An interval in brackets. */
export function span(low, high, unit = "") {
  if (low === null || low === undefined || high === null || high === undefined) return "–";
  return `[${bare(low, unit)}, ${bare(high, unit)}]`;
}

/** The interval of an entry, or the reason why it has none. */
export function interval(entry, unit = "") {
  return entry?.reason ? say("too_few_documents") : span(entry?.low, entry?.high, unit);
}

/** A difference with its sign; a minus sign (U+2212) is as wide as a plus. */
export function signed(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
}

export function count(value) {
  return value === null || value === undefined ? "–" : value.toLocaleString("en").replaceAll(",", "\u202f");
}

export function percent(value, digits = 0) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)}\u202f%`;
}

export function probability(value) {
  if (value === null || value === undefined) return "–";
  return value < 0.001 ? "< 0.001" : value.toFixed(3);
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return say("seconds", { n: seconds < 10 ? seconds.toFixed(1) : Math.round(seconds) });
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return say("minutes", { m: minutes, s: Math.round(seconds % 60) });
  return say("hours", { h: Math.floor(minutes / 60), m: minutes % 60 });
}

export function moment(date) {
  return date ? String(date).replace("T", " ").replace(/(\+00:00|Z)$/, " UTC") : "–";
}

/** Softmax over the choices' log-likelihoods; `-inf` arrives as a string. */
export function shares(logprobs) {
  const values = logprobs.map(Number);
  const top = Math.max(...values.filter((value) => value > -Infinity));
  const weights = values.map((value) => Math.exp(value - top));
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

/** `A` for the first choice; numbers after Z. */
export function letter(position) {
  return position < 26 ? String.fromCharCode(65 + position) : String(position + 1);
}
