// DOM elements from plain values. Strings become text nodes, never markup.

const MESSAGES = JSON.parse(document.getElementById("messages").textContent);

/** The interface's text for a key, with {names} filled in; `key_one` where n is 1. */
export function say(key, values = {}) {
  const one = `${key}_one`;
  const name = Number(values.n) === 1 && Object.hasOwn(MESSAGES, one) ? one : key;
  const found = Object.hasOwn(MESSAGES, name) ? MESSAGES[name] : key;
  return found.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** An element with attributes, listeners (values that are functions) and children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Text of a model or data set, with its own direction and language. */
export function foreign(text, language = null, tag = "span", attributes = {}) {
  return make(tag, { dir: "auto", lang: language, ...attributes, class: `foreign ${attributes.class || ""}` }, String(text ?? ""));
}

/** A block that scrolls horizontally if it is too wide, by keyboard too. */
export function scroller(label, ...children) {
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, children);
}

/** Replace an element's children. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Announce a change to screen readers. */
export function announce(message) {
  const place = document.getElementById("announcements");
  if (place) place.textContent = message;
}

/** Copy a text to the clipboard, with a fallback for pages opened from disk. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "off-screen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  announce(say("copied"));
}

/** A button that copies and confirms it for a moment. */
export function copyButton(label, content) {
  const button = make("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    await copyText(content());
    button.textContent = say("copied");
    setTimeout(() => (button.textContent = label), 1200);
  });
  return button;
}
