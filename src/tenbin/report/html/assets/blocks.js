// Compressed blocks of samples: inside the page, in a folder beside it or on a server. They are
// inflated on demand; the least recently used are dropped.

const PLACE = JSON.parse(document.getElementById("place").textContent);
const CACHE_SIZE = 12;
const cache = new Map();
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
  // The number of inflated blocks, for tests.
  document.documentElement.dataset.inflated = String((inflated += 1));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** A block's value, not cached: for a search through all blocks. */
export async function readOnce(number) {
  return cache.has(number) ? cache.get(number) : inflate(await bytesOf(number));
}

/** A block's value, cached. */
export function read(number) {
  const known = cache.get(number);
  if (known) {
    cache.delete(number);
    cache.set(number, known);
    return known;
  }
  const value = (async () => inflate(await bytesOf(number)))();
  cache.set(number, value);
  if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value);
  return value;
}
