// The exact prompt: examples collapsed, whitespace and special tokens shown on demand.

import { foreign, make, say } from "./elements.js";

// Special tokens of chat formats: <|im_start|>, </s>, [INST], <NL>, …
const SPECIAL = "<\\|[^|<>\\n]{1,40}\\|>|</?(?:s|bos|eos|pad|unk|NL|start_of_turn|end_of_turn|think)>|\\[/?INST\\]|<</?SYS>>";
const HIDDEN = "[ \\t\\n\\r\\u00a0\\u00ad\\u1680\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u2069\\u3000\\ufeff]";
const PIECES = new RegExp(`(${SPECIAL})|(${HIDDEN})`, "g");
const MARK = { " ": "·", "\t": "→", "\n": "↵", "\r": "␍", "\u3000": "□", "\u00a0": "⍽" };

/** A text with invisible characters shown as marks and special tokens framed. */
export function revealed(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(PIECES)) {
    if (found.index > from) nodes.push(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[1]) nodes.push(make("mark", { class: "token" }, found[1]));
    else {
      const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      nodes.push(make("span", { class: "blank", title: `U+${code}` }, MARK[found[0]] ?? `U+${code}`), found[0] === "\n" ? "\n" : "");
    }
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

/** A block of foreign text, exactly as it is. */
export function verbatim(text, language, reveal, label) {
  const block = foreign("", language, "pre", { tabindex: "0", role: "group", "aria-label": label });
  if (reveal) block.append(...revealed(text));
  else block.textContent = text;
  return block;
}

/** The prompt of a sample; `open` expands the examples. */
export function promptView(sample, language, reveal, open, toggled) {
  const parts = sample.parts || [];
  const folded = parts.slice(0, -1);
  const nodes = [];
  if (folded.length) {
    const examples = folded.filter(([kind]) => kind === "e").length;
    const size = folded.reduce((sum, [, text]) => sum + [...text].length, 0);
    const label = sample.exact
      ? say(examples ? "before_question" : "description_only", { n: examples, size: size.toLocaleString("en") })
      : say("before_question_guessed", { size: size.toLocaleString("en") });
    const inside = make("div", { class: "parts" });
    const fold = make("details", { open: open ? true : null, class: "examples" }, make("summary", {}, label), inside);
    const draw = () => {
      if (inside.childElementCount) return;
      folded.forEach(([kind, text], at) => {
        const number = folded.slice(0, at + 1).filter(([one]) => one === "e").length;
        const id = kind === "e" && sample.exact ? sample.examples?.[number - 1] : null;
        const name = kind === "d" ? say("description") : sample.exact ? say("example", { n: number }) : say("examples_guessed");
        inside.append(make("p", { class: "part-name" }, name, id ? foreign(` ${id}`, null, "span", { class: "mono" }) : null), verbatim(text, language, reveal, name));
      });
    };
    fold.addEventListener("toggle", () => {
      if (fold.open) draw();
      toggled(fold.open);
    });
    if (open) draw();
    nodes.push(fold);
  }
  nodes.push(verbatim(parts.length ? parts[parts.length - 1][1] : "", language, reveal, say("question")));
  return nodes;
}
