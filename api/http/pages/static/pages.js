// What is live on the pages: new events, keys, and drawings saved as PNG. Every page works without this script.

"use strict";

const GROUP_MS = 500; // events come in groups: the page is loaded once for each group
const RETRY_MS = 1000;
const WAIT_S = 20; // for so long the server may compute before it answers this script
const PNG_SCALE = 2;

// New events: a live page is loaded again in the background, and the parts that have changed are replaced. The feed
// begins after the position of the page, so that nothing is missed, also while the server restarts. There is a feed for
// each of the queries, which spaces separate; after "#" is a text that an event must contain.

function follow(queries, position) {
  const state = document.getElementById("live");
  const feeds = queries.split(" ").map((query) => [...query.split("#"), ""]);
  const after = feeds.map(() => position);
  let stop = new AbortController(), due = false, loading = false;

  function show(on) {
    state.textContent = on ? "live" : "connecting";
    state.classList.toggle("on", on);
  }

  // One at a time, so that an older answer never replaces a newer one; again if the server could not answer.
  async function load() {
    if (loading) return;
    loading = true;
    for (let wait = GROUP_MS; due;) {
      await pause(wait);
      due = false;
      wait = GROUP_MS;
      await replaceParts().catch(() => { due = true; wait = RETRY_MS; });
    }
    loading = false;
  }

  async function read(place, signal) {
    const [query, about] = feeds[place];
    const answer = await fetch(`/events?${query}${query && "&"}after=${after[place]}`, {
      headers: { accept: "text/event-stream" }, signal,
    });
    if (answer.status === 401 || answer.status === 403) {
      stop.abort(); // the session has ended: asking again would not help
      state.textContent = "signed out";
      return;
    }
    if (!answer.ok) throw new Error(answer.statusText);
    show(true);
    const texts = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await texts.read();
      if (done) return;
      const messages = (rest + value).split("\n\n");
      rest = messages.pop(); // a message may come in several pieces
      const ids = messages.flatMap((message) => message.match(/^id: (\d+)$/m)?.[1] ?? []);
      if (!ids.length) continue;
      after[place] = Math.max(after[place], ...ids);
      if (!messages.some((message) => message.includes(about))) continue;
      due = true;
      load();
    }
  }

  async function keepReading(place, signal) {
    while (!signal.aborted) {
      await read(place, signal).catch(() => {}); // the server stopped, or the network: try again
      if (signal.aborted) return;
      show(false);
      await pause(RETRY_MS);
    }
  }

  function connect() {
    const { signal } = (stop = new AbortController());
    feeds.forEach((_, place) => keepReading(place, signal));
  }

  document.addEventListener("visibilitychange", () => {
    stop.abort();
    if (document.visibilityState === "visible") connect();
  });
  connect();
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// The page as the server has it now. What is being computed is waited for.
async function loadPage() {
  const answer = await fetch(location.href, { headers: { accept: "text/html", prefer: `wait=${WAIT_S}` } });
  return { answer, page: new DOMParser().parseFromString(await answer.text(), "text/html") };
}

async function replaceParts() {
  const { answer, page } = await loadPage();
  const busy = answer.status === 429 || answer.status >= 500 || page.querySelector(WHOLE);
  if (busy) throw new Error(answer.statusText); // load again later
  if (!answer.ok || answer.redirected) return;
  if (document.querySelector("[data-while-empty]") && !page.querySelector("[data-while-empty]")) location.reload();
  for (const part of document.querySelectorAll("[data-part]")) {
    const fresh = page.querySelector(`[data-part="${part.dataset.part}"]`);
    if (fresh === null || fresh.innerHTML === part.innerHTML) continue;
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    if (focused?.matches("input, select, textarea") || part.querySelector("input:checked")) continue; // in use
    part.replaceChildren(...document.adoptNode(fresh).childNodes);
    const address = focused?.getAttribute("href");
    if (address) part.querySelector(`a[href="${CSS.escape(address)}"]`)?.focus({ preventScroll: true });
  }
  prepare();
}

// What is unfinished: a page that stands for another one, or is an earlier one, is replaced as a whole, also by the page
// of an error; else the parts are replaced. `data-unfinished` has the seconds after which the server is asked again.

const WHOLE = "[data-unfinished-page]";

const isInUse = () => document.activeElement?.matches("input, select, textarea") ?? false; // somebody types

async function finish() {
  if (document.querySelector(WHOLE) === null) return replaceParts();
  if (isInUse()) return askAgain(RETRY_MS);
  const { answer, page } = await loadPage();
  if (isInUse()) return askAgain(RETRY_MS);
  if (answer.redirected) return location.reload(); // to sign in, for example
  if (answer.status === 429 || page.getElementById("content") === null) throw new Error(answer.statusText);
  document.title = page.title;
  document.body.replaceWith(document.adoptNode(page.body));
  for (const { src } of page.querySelectorAll("head script[src]")) {
    if (document.querySelector(`head script[src="${CSS.escape(new URL(src).pathname + new URL(src).search)}"]`)) continue;
    document.head.append(Object.assign(document.createElement("script"), { type: "module", src }));
  }
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  start();
}

// Keys

function rows() {
  return [...document.querySelectorAll("tr.row a.open, .row-link")];
}

function step(by) {
  const links = rows();
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)].focus();
}

let prefix = "";

function onKey(event) {
  if (event.key === "Escape") {
    document.querySelectorAll(".term:hover, .term:focus-within").forEach((term) => term.classList.add("closed"));
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    return;
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    document.querySelector('[data-key="Ctrl+Enter"]')?.click();
    event.preventDefault(); // a focused radio button would submit the form, too
    return;
  }
  const typing = event.target.closest("input:not([type=radio]), select, textarea, dialog");
  if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
  const links = document.querySelectorAll(".top nav a");
  if (prefix === "g" && links[Number(event.key) - 1]) location.href = links[Number(event.key) - 1].href;
  else if (event.key === "/") document.getElementById("find")?.focus();
  else if (event.key === "?") document.getElementById("keys").showModal();
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else {
    const shortcut = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (shortcut === null) {
      prefix = event.key;
      return;
    }
    if (shortcut.matches("a, button, [type=radio]")) shortcut.click();
    if (!shortcut.matches("a, button")) shortcut.focus();
  }
  prefix = "";
  event.preventDefault();
}

// Drawings as PNG: the browser draws the SVG file, which has its own style, on a canvas.

async function savePng(button) {
  const image = new Image();
  image.src = button.dataset.svg;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * PNG_SCALE;
  canvas.height = image.naturalHeight * PNG_SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const link = document.createElement("a");
  link.download = button.dataset.name;
  link.href = URL.createObjectURL(await new Promise((done) => canvas.toBlob(done, "image/png")));
  link.click();
  URL.revokeObjectURL(link.href);
}

let unfinished = null;

function askAgain(ms) {
  clearTimeout(unfinished);
  unfinished = setTimeout(() => finish().catch(() => askAgain(RETRY_MS)), ms);
}

function prepare() {
  clearTimeout(unfinished);
  const waits = [...document.querySelectorAll("[data-unfinished]")].map((part) => Number(part.dataset.unfinished));
  if (waits.length) askAgain(1000 * Math.min(...waits));
  for (const button of document.querySelectorAll(".save-png[hidden]")) {
    button.hidden = false;
    button.addEventListener("click", () => savePng(button));
  }
  for (const control of document.querySelectorAll("[data-submit]:not([data-prepared])")) {
    control.dataset.prepared = "";
    control.addEventListener("change", () => control.form.requestSubmit());
  }
}

function start() {
  prepare();
  if (document.body.dataset.live !== undefined) follow(document.body.dataset.live, Number(document.body.dataset.position));
}

document.addEventListener("keydown", onKey);
document.addEventListener("mouseout", (event) => event.target.closest?.(".term")?.classList.remove("closed"));
start();
