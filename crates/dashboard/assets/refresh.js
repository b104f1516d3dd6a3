// Fetches the parts of the page that changed, and puts them in place. Changes are collected while a request is under way.
// @ts-check
import { all, one } from "./dom.js";
import { morph } from "./morph.js";
import { applyFilters } from "./select.js";

const main = one("#main");

/** @param {string | undefined} ids */
const list = (ids) => (ids ?? "").split(" ").filter(Boolean);

/** Parts that follow every change. */
export const atOnce = list(main?.dataset.live);

/** Parts that are refreshed once a minute. */
const eachMinute = list(main?.dataset.minute);

/** Time between two requests, in milliseconds. The stream tells of changes at most ten times a second. */
const PAUSE = 40;

/** @type {Set<string>} */
const waiting = new Set();
let busy = false;

/**
 * Refreshes parts of the page soon.
 * @param {string[]} ids
 */
export function refresh(ids = [...atOnce, ...eachMinute]) {
  for (const id of ids) waiting.add(id);
  if (!busy && waiting.size) {
    busy = true;
    // A hidden page has no animation frames, and nobody looks.
    if (document.hidden) setTimeout(run, 1000);
    else requestAnimationFrame(run);
  }
}

async function run() {
  const ids = [...waiting].filter((id) => document.getElementById(id) && !isHeld(id));
  waiting.clear();
  try {
    if (ids.length) await load(ids);
  } catch {
    // The server is away; the stream tells when it is back, and then everything is refreshed.
  }
  setTimeout(() => {
    busy = false;
    refresh([]);
  }, PAUSE);
}

/** @param {string[]} ids */
async function load(ids) {
  const url = new URL(location.href);
  url.searchParams.set("fragment", ids.join(","));
  const response = await fetch(url, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!response.ok) return;
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  // The first session has begun, or the last one was removed: this address has another page now.
  if (parsed.querySelector("[data-replaced]")) return location.reload();
  for (const id of ids) {
    const from = document.getElementById(id);
    const to = parsed.getElementById(id);
    if (from && to) morph(from, document.adoptNode(to));
  }
  applyFilters();
  title();
  resolved();
  newCalls();
  document.dispatchEvent(new Event("refreshed"));
}

/**
 * Parts that must not change while a person uses them.
 * @param {string} id
 */
function isHeld(id) {
  if (id === "shape") {
    const scroll = one("#shape [data-calls]");
    return scroll !== null && scroll.scrollLeft < -40;
  }
  return id === "events" && new URL(location.href).searchParams.has("before");
}

/** How many calls there are that the picture does not show. */
function newCalls() {
  const total = (/** @type {string} */ id) => Number(one(id)?.dataset.callsTotal ?? 0);
  const count = total("#head") - total("#shape");
  const text = count === 1 ? "1 new call" : `${count} new calls`;
  const button = one("#shape [data-show-new]");
  const link = one("#shape [data-newest]");
  if (button) button.hidden = count <= 0 || link !== null;
  if (button) button.textContent = text;
  if (link && count > 0) link.textContent = text;
}

/** A row that stays although it is resolved tells by whom. */
function resolved() {
  for (const row of all(".resolved")) {
    const text = one(`[data-resolved="${CSS.escape(row.id)}"]`)?.dataset.text;
    const output = one("output.answer", row) ?? row.appendChild(Object.assign(document.createElement("output"), { className: "answer" }));
    if (text && output.textContent !== text) output.textContent = text;
  }
}

/** The title counts who needs a person, or says what the page's part says. */
function title() {
  const said = one("[data-tab]")?.dataset.tab;
  if (said) document.title = `${said} · Belay`;
  if (!one("#needs")) return;
  const count = Number(one("#pages [data-go=o] .hot")?.textContent ?? 0);
  const text = count === 0 ? "Overview" : count === 1 ? "1 needs you" : `${count} need you`;
  document.title = `${text} · Belay`;
}

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element) || !event.target.closest("[data-show-new]")) return;
  for (const scroll of all("#shape [data-calls]")) scroll.scrollLeft = 0;
  refresh(["shape"]);
});

if (eachMinute.length) setInterval(() => document.hidden || refresh(eachMinute), 60_000);
addEventListener("pageshow", (event) => event.persisted && refresh());
