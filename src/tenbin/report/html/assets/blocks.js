// Compressed blocks of samples: found inside the page, in a folder beside it or at a server;
// inflated on demand, and the least used forgotten.

const PLACE = JSON.parse(document.getElementById("place").textContent);
const KEPT = 12;
const kept = new Map();
let inflated = 0;

function decode(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

const arriving = new Map();
if (PLACE.kind === "folder") {
  window.tenbinBlock = (number, text) => arriving.get(number)?.(decode(text));
}
const POLICY =
  PLACE.kind === "folder" && window.trustedTypes
    ? window.trustedTypes.createPolicy("tenbin-blocks", {
        createScriptURL: (name) => {
          if (!/^\d+$/.test(name)) throw new TypeError("not a block number");
          return `${encodeURIComponent(PLACE.path)}/${name}.js`;
        },
      })
    : null;

function fromFolder(number) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    arriving.set(number, resolve);
    script.nonce = PLACE.nonce;
    script.src = POLICY ? POLICY.createScriptURL(String(number)) : `${encodeURIComponent(PLACE.path)}/${number}.js`;
    script.onload = () => script.remove();
    script.onerror = () => reject(new Error(`${PLACE.path}/${number}.js`));
    document.head.append(script);
  });
}

async function fromServer(number) {
  const response = await fetch(`${PLACE.path}${number}`, { credentials: "same-origin" });
  if (!response.ok) throw new Error(`block ${number}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

async function bytesOf(number) {
  if (PLACE.kind === "folder") return fromFolder(number);
  if (PLACE.kind === "server") return fromServer(number);
  return decode(document.getElementById(`block-${number}`).textContent);
}

async function inflate(bytes) {
  // Tests and the curious can see how many blocks were opened.
  document.documentElement.dataset.inflated = String((inflated += 1));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** A block's value, without keeping it: for a search that passes through all of them. */
export async function readOnce(number) {
  return kept.has(number) ? kept.get(number) : inflate(await bytesOf(number));
}

/** A block's value; the last few stay. */
export function read(number) {
  const known = kept.get(number);
  if (known) {
    kept.delete(number);
    kept.set(number, known);
    return known;
  }
  const value = (async () => inflate(await bytesOf(number)))();
  kept.set(number, value);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return value;
}
