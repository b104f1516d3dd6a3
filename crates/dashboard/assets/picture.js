// The call cursor: arrows or the pointer walk through the calls; one line tells what is under it.
// @ts-check
import { around, one } from "./dom.js";

/** @typedef {[x: number, width: number, text: string]} Column */

/** @type {WeakMap<HTMLElement, { source: string, columns: Column[], at: number }>} */
const pictures = new WeakMap();

/** @param {HTMLElement} picture */
function read(picture) {
  const source = picture.dataset.calls ?? "[]";
  let known = pictures.get(picture);
  if (!known || known.source !== source) {
    /** @type {Column[]} */
    const columns = JSON.parse(source);
    // The cursor stays on its call when new calls arrive.
    const text = known?.columns[known.at]?.[2];
    const same = known && known.at < known.columns.length - 1 ? columns.findIndex((column) => column[2] === text) : -1;
    known = { source, columns, at: same < 0 ? columns.length - 1 : same };
    pictures.set(picture, known);
  }
  return known;
}

/**
 * @param {HTMLElement} picture
 * @param {number} index
 */
function show(picture, index) {
  const known = read(picture);
  known.at = Math.min(known.columns.length - 1, Math.max(0, index));
  const column = known.columns[known.at];
  const cursor = picture.querySelector(".cursor");
  const output = one("#call");
  if (!column || !cursor || !output) return;
  const [x, width, text] = column;
  cursor.setAttribute("x", String(x));
  cursor.setAttribute("width", String(width));
  output.textContent = text;
}

document.addEventListener("keydown", (event) => {
  const picture = around(event, "[data-calls]");
  const steps = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1, Home: -1e6, End: 1e6 });
  const step = steps[event.key];
  if (!picture || !step || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  show(picture, read(picture).at + step);
  picture.querySelector(".cursor")?.scrollIntoView({ block: "nearest", inline: "nearest" });
});

document.addEventListener("refreshed", () => {
  const picture = one("[data-calls]");
  if (picture && pictures.has(picture)) show(picture, read(picture).at);
});

// A click on the strip moves the window there; without it, there are links to earlier and later calls.
document.addEventListener("click", (event) => {
  const bucket = event.target instanceof Element ? event.target.closest("[data-until]") : null;
  const until = bucket?.getAttribute("data-until");
  if (until) location.assign(`${location.pathname}?until=${until}#shape`);
});

document.addEventListener("pointermove", (event) => {
  const picture = around(event, "[data-calls]");
  const svg = picture?.querySelector("svg");
  if (!picture || !svg) return;
  const at = event.clientX - svg.getBoundingClientRect().left;
  const { columns } = read(picture);
  const index = columns.findIndex(([x, width]) => at >= x && at < x + width);
  if (index >= 0) show(picture, index);
});
