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

/** Shortest time between two requests, in milliseconds. */
const PAUSE = 120;

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
  // The first session has begun: the page is another one now.
  if (response.status === 404 && one("#landing")) return location.reload();
  if (!response.ok) return;
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const id of ids) {
    const from = document.getElementById(id);
    const to = parsed.getElementById(id);
    if (from && to) morph(from, document.adoptNode(to));
  }
  applyFilters();
  title();
  document.dispatchEvent(new Event("refreshed"));
}

/**
 * Parts that must not change under the hand.
 * @param {string} id
 */
function isHeld(id) {
  if (id === "shape") {
    const scroll = one("#shape [data-calls]");
    const isBack = scroll !== null && scroll.scrollLeft < -40;
    const button = one("#shape [data-show-new]");
    if (button) button.hidden = !isBack;
    return isBack;
  }
  const search = one("#event-search");
  return id === "events" && search instanceof HTMLInputElement && search.value !== "";
}

/** The title counts who needs a person. */
function title() {
  if (!one("#needs")) return;
  const count = Number(one("#pages .hot")?.textContent ?? 0);
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
