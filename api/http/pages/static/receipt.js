// Check a receipt (C2SP tlog-proof) in the browser, with WebCrypto and nothing of the server: read it, hash the event,
// recompute the root along the path (RFC 6962), verify the signature of the checkpoint. Reading is as strict as that of
// `tallystick receipt --check`, so that both agree on every file. Also check that a log continues an older checkpoint.

"use strict";

const HEADER = "c2sp.org/tlog-proof@v1";
const HASH_BYTES = 32, KEY_BYTES = 32, KEY_ID_BYTES = 4, TIME_BYTES = 8;
const HASHES_MAX = 63, SIGNATURES_MAX = 64;
const NOTE_BYTES_MAX = 256 * 1024, RECEIPT_BYTES_MAX = NOTE_BYTES_MAX + 2 * 65_535;
const NUMBER_MAX = 2n ** 63n - 1n;
const ED25519 = 1, COSIGNATURE = 4;
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;
const INVISIBLE = new RegExp(
  "[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff" +
  "\\ufff9-\\ufffb\\ufdd0-\\ufdef\\ufffe\\uffff\\ud800-\\udfff\\u{e0000}-\\u{e007f}]", "gu");

/** What cannot be read: no receipt, no checkpoint, or no key. */
class Unreadable extends Error {}

// Bytes and texts

const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const equal = (one, other) => one.length === other.length && one.every((byte, index) => byte === other[index]);
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

function join(...parts) {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", join(...parts)));

/** Return a text in which no character is hidden or changes the writing direction. */
function visible(text) {
  return text.replace(INVISIBLE, (character) => `[U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
}

function decodeText(bytes, name) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Unreadable(`${name} is not UTF-8.`);
  }
}

function decodeBase64(text, name) {
  const bytes = /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0
    ? Uint8Array.from(atob(text), (character) => character.charCodeAt(0)) : null;
  if (bytes === null || base64(bytes) !== text) throw new Unreadable(`${name} is not standard base64.`);
  return bytes;
}

function parseNumber(text) {
  if (!/^(0|[1-9][0-9]{0,18})$/.test(text) || BigInt(text) > NUMBER_MAX) {
    throw new Unreadable(`${JSON.stringify(text.slice(0, 80))} is not a number of events.`);
  }
  return BigInt(text);
}

function checkName(name) {
  if (!name || name.includes("+") || SPACE.test(name)) {
    throw new Unreadable(`${JSON.stringify(name.slice(0, 80))} cannot name a log or a key.`);
  }
  return name;
}

// Keys, checkpoints and receipts

/** Read a verifier key, NAME+ID+KEY. */
export async function parseKey(text) {
  const [, name, id, encoded] = /^([^+]*)\+([^+]*)\+(.*)$/s.exec(text) ?? [];
  if (!encoded || !/^[0-9a-f]{8}$/.test(id)) throw new Unreadable("This is not a key. A key is NAME+ID+KEY.");
  checkName(name);
  const data = decodeBase64(encoded, "The key"), kind = data[0], key = data.subarray(1);
  if (kind !== ED25519 && kind !== COSIGNATURE) throw new Unreadable(`The key of ${name} is of an unknown kind.`);
  const computed = (await sha256(utf8(`${name}\n`), data)).subarray(0, KEY_ID_BYTES);
  if (key.length !== KEY_BYTES || hex(computed) !== id) {
    throw new Unreadable(`The key of ${name} is damaged: its id does not match its bytes. Copy all of it again.`);
  }
  return { name, id: computed, kind, key };
}

function parseSignature(line) {
  const [, name, encoded] = /^— ([^ ]+) ([^ ]+)$/u.exec(line) ?? [];
  if (!encoded) throw new Unreadable("A signature line is not an em dash, a name and base64.");
  checkName(name);
  const data = decodeBase64(encoded, "A signature");
  if (data.length <= KEY_ID_BYTES) throw new Unreadable(`The signature of ${name} is empty.`);
  return { name, id: data.subarray(0, KEY_ID_BYTES), signature: data.subarray(KEY_ID_BYTES) };
}

/** Read a checkpoint: three lines, a blank line, and signature lines. */
function parseCheckpoint(bytes) {
  if (bytes.length > NOTE_BYTES_MAX) throw new Unreadable(`A checkpoint is at most ${NOTE_BYTES_MAX} bytes.`);
  const decoded = decodeText(bytes, "The checkpoint");
  if (/[\0-\x09\x0b-\x1f]/.test(decoded)) throw new Unreadable("The checkpoint contains a control character.");
  const blank = decoded.lastIndexOf("\n\n");
  if (blank < 1 || !decoded.endsWith("\n") || blank + 2 === decoded.length) {
    throw new Unreadable("There is no signed checkpoint: text, a blank line, and signature lines.");
  }
  const text = decoded.slice(0, blank + 1);
  const signatures = decoded.slice(blank + 2, -1).split("\n").map(parseSignature);
  if (signatures.length > SIGNATURES_MAX) throw new Unreadable(`A checkpoint has at most ${SIGNATURES_MAX} signatures.`);
  const lines = text.split("\n");
  if (lines.length !== 4) throw new Unreadable("A checkpoint has exactly the lines origin, size and root.");
  const root = decodeBase64(lines[2], "The root");
  if (root.length !== HASH_BYTES) throw new Unreadable(`The root has ${root.length} bytes; a root has ${HASH_BYTES}.`);
  return { text, signatures, origin: checkName(lines[0]), size: parseNumber(lines[1]), root };
}

/** Read a receipt from its bytes. `index` counts from 0. */
export function parseReceipt(bytes) {
  if (bytes.length > RECEIPT_BYTES_MAX) throw new Unreadable(`A receipt is at most ${RECEIPT_BYTES_MAX} bytes.`);
  const blank = bytes.findIndex((byte, index) => byte === 10 && bytes[index + 1] === 10);
  const lines = decodeText(blank < 0 ? bytes : bytes.subarray(0, blank), "The receipt").split("\n");
  if (blank < 0 || lines.shift() !== HEADER) {
    throw new Unreadable(`This is not a receipt. A receipt begins with the line ${HEADER}.`);
  }
  let line = null;
  if (lines[0]?.startsWith("extra ")) line = decodeBase64(lines.shift().slice(6), "The event of the receipt");
  if (!lines[0]?.startsWith("index ")) throw new Unreadable("The receipt has no index.");
  const index = parseNumber(lines.shift().slice(6));
  const path = lines.map((text) => decodeBase64(text, "A hash of the receipt"));
  if (path.length > HASHES_MAX || path.some((hash) => hash.length !== HASH_BYTES)) {
    throw new Unreadable(`A receipt has at most ${HASHES_MAX} hashes, of ${HASH_BYTES} bytes each.`);
  }
  return { line, index, path, checkpoint: parseCheckpoint(bytes.subarray(blank + 2)) };
}

// The proof and the signature

/** Recompute the root from a leaf, hash by hash (RFC 9162, 2.1.3.2). `fits`: whether the path has the right length. */
async function climb(leaf, index, size, path) {
  let node = index, last = size - 1n, computed = leaf;
  const levels = [];
  for (const sibling of path) {
    if (last <= 0n) return { levels, computed, fits: false };
    const left = (node & 1n) === 1n || node === last;
    computed = left ? await sha256([1], sibling, computed) : await sha256([1], computed, sibling);
    levels.push({ left, sibling, computed });
    while (left && (node & 1n) === 0n && node !== 0n) {
      node >>= 1n;
      last >>= 1n;
    }
    node >>= 1n;
    last >>= 1n;
  }
  return { levels, computed, fits: index < size && last === 0n };
}

/** Return whether the tree of a size and root begins with the older size and root (RFC 9162, 2.1.4.2). */
export async function verifyConsistency(olderSize, size, proof, olderRoot, root) {
  if (olderSize > size) return false;
  if (olderSize === 0n) {
    const empty = await sha256();
    return !proof.length && equal(olderRoot, empty) && (size > 0n || equal(root, empty));
  }
  if (olderSize === size) return !proof.length && equal(olderRoot, root);
  const path = (olderSize & (olderSize - 1n)) === 0n ? [olderRoot, ...proof] : proof;
  if (!path.length) return false;
  let node = olderSize - 1n, last = size - 1n;
  for (; node & 1n; node >>= 1n) last >>= 1n;
  let older = path[0], newer = path[0];
  for (const sibling of path.slice(1)) {
    if (last === 0n) return false;
    if (node & 1n || node === last) {
      [older, newer] = [await sha256([1], sibling, older), await sha256([1], sibling, newer)];
      for (; !(node & 1n) && node; node >>= 1n) last >>= 1n;
    } else newer = await sha256([1], newer, sibling);
    node >>= 1n;
    last >>= 1n;
  }
  return last === 0n && equal(older, olderRoot) && equal(newer, root);
}

async function verifySignature(key, text, signature) {
  let message = utf8(text), signed = signature;
  if (key.kind === COSIGNATURE) {
    const time = BigInt(`0x0${hex(signature.subarray(0, TIME_BYTES))}`);
    if (time > NUMBER_MAX) return false;
    message = join(utf8(`cosignature/v1\ntime ${time}\n`), message);
    signed = signature.subarray(TIME_BYTES);
  }
  try {
    const imported = await crypto.subtle.importKey("raw", key.key, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", imported, signed, message);
  } catch (error) {
    if (error.name === "NotSupportedError") throw error;
    return false;
  }
}

/**
 * Check a receipt with a key. Returns { verdict, steps, event }: the verdict is "valid", "invalid" or "unreadable", a
 * step is { name, passed, words, values }, and the event is its line as text, or null.
 */
export async function checkReceipt(bytes, keyText, pasted) {
  const steps = [];
  const step = (name, passed, words, values = []) => steps.push({ name, passed, words, values });
  let receipt, key;
  try {
    receipt = parseReceipt(bytes);
    if (receipt.line === null) throw new Unreadable("This receipt does not contain its event. Check it with --line.");
    step("The file is a receipt", true, `It is ${count(bytes.length, "byte")} long.`, [
      ["position", String(receipt.index + 1n)], ["log", receipt.checkpoint.origin],
      ["tree of", `${receipt.checkpoint.size} events`],
    ]);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    step("The file is a receipt", false, error.message);
    return { verdict: "unreadable", steps, event: null };
  }
  try {
    key = await parseKey(keyText);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    step("The key is a verifier key", false, error.message);
    return { verdict: "unreadable", steps, event: null };
  }
  await checkPath(receipt, step);
  await checkSignature(receipt.checkpoint, key, pasted, step);
  const verdict = steps.every(({ passed }) => passed !== false) ? "valid" : "invalid";
  return { verdict, steps, event: new TextDecoder().decode(receipt.line) };
}

/** Check that a newer checkpoint continues an older one; `hashes` are in base64. Returns what `checkReceipt` returns. */
export async function checkConsistency(olderText, newerText, hashes, keyText) {
  const steps = [];
  const step = (name, passed, words, values = []) => steps.push({ name, passed, words, values });
  let older, newer, proof, key;
  try {
    older = olderText.startsWith(HEADER) ? parseReceipt(utf8(olderText)).checkpoint : parseCheckpoint(utf8(olderText));
    newer = parseCheckpoint(utf8(newerText));
    proof = hashes.map((text) => decodeBase64(text, "A hash of the proof"));
    key = await parseKey(keyText);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    step("Both checkpoints and the key can be read", false, error.message);
    return { verdict: "unreadable", steps, event: null };
  }
  const continues = await verifyConsistency(older.size, newer.size, proof, older.root, newer.root);
  step(
    "The proof leads from the older root to the newer one", continues,
    continues ? "Both roots were recomputed from the hashes of the proof." : "The hashes do not give both roots.",
    [["older", `${older.size} events, ${base64(older.root)}`], ["newer", `${newer.size} events, ${base64(newer.root)}`],
      ...proof.map((hash, level) => [`hash ${level + 1}`, base64(hash)])],
  );
  await checkSignature(older, key, false, step, "the older checkpoint");
  await checkSignature(newer, key, false, step, "the newer checkpoint");
  return { verdict: steps.every(({ passed }) => passed !== false) ? "valid" : "invalid", steps, event: null };
}

async function checkPath({ line, index, path, checkpoint }, step) {
  const leaf = await sha256([0], line);
  step("The event is hashed", true, "The leaf hash is SHA-256 of the byte 0x00 and the event's bytes.", [
    ["event", count(line.length, "byte")], ["its SHA-256", hex(await sha256(line))], ["leaf hash", base64(leaf)],
  ]);
  const { levels, computed, fits } = await climb(leaf, index, checkpoint.size, path);
  step(
    "The path is hashed", fits,
    fits
      ? "Each hash of the path is joined with the hash so far: SHA-256 of the byte 0x01, the left one and the right one."
      : `A tree of ${count(checkpoint.size, "event")} has no such path to position ${index + 1n}.`,
    levels.map(({ left, sibling, computed: node }, level) =>
      [`level ${level + 1}`, `${left ? `${base64(sibling)} on the left` : `${base64(sibling)} on the right`} gives ${base64(node)}`]),
  );
  const same = fits && equal(computed, checkpoint.root);
  step(
    "The root is that of the checkpoint", same,
    same ? "So the event is in the tree of the checkpoint, at this position."
      : "So the event is not the one at this position of the tree, or the receipt is damaged.",
    [["recomputed", base64(computed)], ["checkpoint", base64(checkpoint.root)]],
  );
}

async function checkSignature(checkpoint, key, pasted, step, which = "the checkpoint") {
  const { text, signatures, origin } = checkpoint;
  const named = origin === key.name;
  step(
    `The key is of the log of ${which}`, named,
    named ? "Both have the same name." : "The checkpoint is of another log than the key.",
    [["checkpoint", origin], ["key", key.name]],
  );
  if (!named) {
    step(`The log's key signed ${which}`, null, "Not checked: the key is that of another log.");
    return;
  }
  const own = signatures.filter(({ name, id }) => name === key.name && equal(id, key.id));
  const results = await Promise.all(own.map(({ signature }) => verifySignature(key, text, signature)));
  const signed = results.length > 0 && results.every(Boolean);
  const whose = pasted
    ? "You pasted the key. If you have it from the log's owner, this proves that the owner has signed this tree."
    : "The key is the one that this server shows. So all parts belong together; who signed them is not proved.";
  step(
    `The log's key signed ${which}`, signed,
    signed ? whose : own.length ? "The Ed25519 signature does not fit the checkpoint and the key."
      : "It has no signature by this key.",
    [["key", `${key.name}+${hex(key.id)}`], ...own.map(({ signature }) => ["signature", base64(signature)])],
  );
}

// The form

const UNREADABLE = "This cannot be checked.";
const OF_RECEIPT = {
  valid: "The receipt is valid: the event is in the signed log.",
  invalid: "The receipt is not valid.",
  unreadable: UNREADABLE,
};
const OF_CONSISTENCY = {
  valid: "This browser has checked it, too: the newer checkpoint continues the older one.",
  invalid: "This browser has checked it, too: the newer checkpoint does not continue the older one.",
  unreadable: UNREADABLE,
};

function element(name, text = "", style = "") {
  const made = document.createElement(name);
  made.textContent = visible(text);
  if (style) made.className = style;
  return made;
}

function showResult(result, verdicts, { verdict, steps, event }) {
  const list = element("ol", "", "steps");
  for (const { name, passed, words, values } of steps) {
    const item = element("li", "", passed === null ? "skipped" : passed ? "passed" : "failed");
    const outcome = passed === null ? "not checked" : passed ? "passed" : "failed";
    item.append(element("b", name), element("span", ` ${outcome}. `, "soft"), element("span", words));
    const facts = element("dl");
    for (const [label, value] of values) {
      const fact = element("div"), shown = element("dd");
      shown.append(element("code", value));
      fact.append(element("dt", label), shown);
      facts.append(fact);
    }
    if (values.length) item.append(facts);
    list.append(item);
  }
  const shown = event === null ? [] : [element("h3", "The event"), element("pre", event)];
  shown.at(1)?.setAttribute("tabindex", "0");
  const tone = verdict === "valid" ? "passed" : "worse";
  result.replaceChildren(element("p", verdicts[verdict], `judgement ${tone}`), list, ...shown);
  result.dataset.verdict = verdict;
}

function refuse(result, text) {
  result.replaceChildren(element("p", text, "judgement worse"));
  result.dataset.verdict = "unreadable";
}

function prepare(form, result) {
  const [text, file, key] = ["receipt-text", "receipt-file", "receipt-key"].map((id) => document.getElementById(id));
  form.hidden = false;
  if (!globalThis.isSecureContext) {
    form.querySelector("button").disabled = true;
    refuse(result, "This browser offers no cryptography on this page, because the page came over plain HTTP from another machine. Use HTTPS or 127.0.0.1, or check the receipt offline with the command below.");
    return;
  }

  async function check() {
    result.removeAttribute("data-verdict");
    const bytes = file.files.length
      ? new Uint8Array(await file.files[0].arrayBuffer())
      : utf8(text.value.replace(/\n*$/, "\n")); // who copies a text often loses its last line feed
    const pasted = key.value.trim();
    try {
      if (!pasted && !form.dataset.serverKey) refuse(result, "This server shows no key: paste the key of the log.");
      else showResult(result, OF_RECEIPT, await checkReceipt(bytes, pasted || form.dataset.serverKey, pasted !== ""));
    } catch (error) {
      refuse(result, `This browser cannot check the signature (${error.message}). Use a newer one, or the command below.`);
    }
  }

  async function fetchReceipt(address) {
    const answer = await fetch(address);
    if (answer.ok) {
      text.value = await answer.text();
      await check();
    } else refuse(result, (await answer.json().catch(() => null))?.detail ?? `The server answered ${answer.status}.`);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    check();
  });
  text.addEventListener("input", () => { file.value = ""; });
  if (form.dataset.fetch) fetchReceipt(form.dataset.fetch);
}

async function compare(result, key) {
  if (!globalThis.isSecureContext || !key) return;
  const answer = await fetch(result.dataset.proof);
  if (!answer.ok) return;
  const older = document.getElementById("older").value.replace(/^\n+|\n+$/g, "");
  showResult(result, OF_CONSISTENCY, await checkConsistency(`${older}\n`, result.dataset.newer, (await answer.json()).hashes, key));
}

const form = globalThis.document?.getElementById("check");
if (form) prepare(form, document.getElementById("receipt-result"));
const compared = globalThis.document?.getElementById("consistency-result");
if (compared) compare(compared, form.dataset.serverKey);
