// Pairs of runs, read from either side: the second run less the first, or turned around.

import { read } from "./blocks.js";
import { SUMMARY } from "./cells.js";

/**
 * What is known of `other` against `baseline`: {comparisons, groups, onlyBaseline, onlyOther,
 * refused, error, changes() → changed documents of each comparison}; null if they were not compared.
 */
export function pairOf(baseline, other) {
  const stored = SUMMARY.comparison?.pairs.find((pair) => [pair.first, pair.second].includes(baseline) && [pair.first, pair.second].includes(other));
  if (!stored || baseline === other) return null;
  const turned = stored.first !== baseline;
  const rows = (list) => (turned ? list.map(turnedScore) : list);
  return {
    baseline,
    other,
    comparisons: rows(stored.comparisons),
    groups: rows(stored.groups),
    onlyBaseline: turned ? stored.only_second : stored.only_first,
    onlyOther: turned ? stored.only_first : stored.only_second,
    refused: stored.refused.map((one) => (turned ? { ...one, first: one.second, second: one.first } : one)),
    error: stored.error,
    changes: async () => {
      if (stored.changes === null) return [];
      const found = await read(stored.changes);
      return turned ? found.map((list) => list.map((one) => ({ ...one, better: !one.better, baseline: one.other, other: one.baseline }))) : found;
    },
  };
}

const negative = (value) => (value === null ? null : -value);

function turnedScore(row) {
  return {
    ...row,
    difference: -row.difference,
    low: negative(row.high),
    high: negative(row.low),
    wins: row.losses,
    losses: row.wins,
    baseline: row.other,
    other: row.baseline,
    value: { baseline: row.value.other, other: row.value.baseline },
    p_holm: row.p_holm_turned,
  };
}

/** The largest difference or end of an interval of some rows, as a share of the full score. */
export function widestOf(rows) {
  const scale = (row) => (row.unit === "%" ? 100 : 1);
  return Math.max(0.05, ...rows.flatMap((row) => [row.low, row.high, row.difference].filter((one) => one !== null).map((one) => Math.abs(one) / scale(row))));
}

/** Whether a difference is shown after correction: `better`, `worse`, or null. */
export function verdictOf(row) {
  if (row.p_holm >= 0.05 || row.difference === 0) return null;
  return row.difference > 0 === row.higher_is_better ? "better" : "worse";
}
