// What is different between two texts: words, or single characters of scripts without spaces.

const TOKENS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{N}\p{M}_])+|\n|[^\S\n]+|[^]/gu;
/** Edits beyond which the middle of two texts counts as replaced as a whole. */
const MOST_EDITS = 1000;

/** Pieces [kind, text] of the second text: `same`, `added` in it, or `missing` from the first. */
export function differencePieces(first, second) {
  if (first === second) return [["same", second]];
  const [a, b] = [first.match(TOKENS) ?? [], second.match(TOKENS) ?? []];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const middle = edits(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return joined([["same", b.slice(0, start).join("")], ...middle, ["same", b.slice(b.length - end).join("")]]);
}

/** The shortest edit from one list of tokens to another, after Myers. */
function edits(a, b) {
  if (!a.length || !b.length) return replaced(a, b);
  const most = Math.min(MOST_EDITS, a.length + b.length);
  const reach = new Int32Array(2 * most + 2);
  const trace = [];
  for (let d = 0; d <= most; d += 1) {
    trace.push(reach.slice(most - d, most + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[most + k - 1] < reach[most + k + 1]);
      let x = down ? reach[most + k + 1] : reach[most + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach[most + k] = x;
      if (x >= a.length && x - k >= b.length) return backtrack(a, b, trace, d);
    }
  }
  return replaced(a, b);
}

const replaced = (a, b) => [["missing", a.join("")], ["added", b.join("")]];

function backtrack(a, b, trace, last) {
  const pieces = [];
  let [x, y] = [a.length, b.length];
  for (let d = last; d >= 0; d -= 1) {
    const reach = trace[d];
    const k = x - y;
    const at = (diagonal) => reach[d + diagonal];
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const before = down ? k + 1 : k - 1;
    const [oldX, oldY] = d === 0 ? [0, 0] : [at(before), at(before) - before];
    while (x > oldX && y > oldY) {
      pieces.push(["same", a[x - 1]]);
      [x, y] = [x - 1, y - 1];
    }
    if (d > 0) pieces.push(down ? ["added", b[y - 1]] : ["missing", a[x - 1]]);
    [x, y] = [oldX, oldY];
  }
  return pieces.reverse();
}

/** Pieces without empty ones; blanks between two changes belong to the change. */
function joined(pieces) {
  const found = [];
  let [missing, added] = ["", ""];
  const flush = () => {
    if (missing) found.push(["missing", missing]);
    if (added) found.push(["added", added]);
    [missing, added] = ["", ""];
  };
  const runs = [];
  for (const [kind, text] of pieces) {
    if (!text) continue;
    if (runs.at(-1)?.[0] === kind) runs.at(-1)[1] += text;
    else runs.push([kind, text]);
  }
  runs.forEach(([kind, text], at) => {
    const between = kind === "same" && at > 0 && at < runs.length - 1 && /^[^\S\n]+$/.test(text);
    if (kind === "same" && !between) {
      flush();
      found.push([kind, text]);
      return;
    }
    if (kind !== "added") missing += text;
    if (kind !== "missing") added += text;
  });
  flush();
  return found;
}
