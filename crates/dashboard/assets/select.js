// Searching in lists, and selecting several rows.
// @ts-check
import { all, one } from "./dom.js";

/** Hides rows that do not match the search. */
export function applyFilters() {
  for (const field of all("[data-search]")) {
    if (!(field instanceof HTMLInputElement)) continue;
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of all(field.dataset.search ?? "")) {
      const text = (row.textContent ?? "").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  }
  count();
}

function count() {
  const bulk = one("#bulk");
  const checked = all(".pick input:checked").length;
  if (!bulk) return;
  bulk.hidden = checked === 0;
  const text = one("b", bulk);
  if (text) text.textContent = `${checked} selected`;
}

/** @type {HTMLInputElement | null} */
let last = null;

/**
 * Selects a row; with `range`, all rows from the one selected before.
 * @param {Element} row
 * @param {boolean} range
 */
export function select(row, range) {
  const box = row.querySelector("input[type=checkbox]");
  if (!(box instanceof HTMLInputElement) || box.disabled) return;
  const boxes = all(".pick input").filter((box) => box instanceof HTMLInputElement && !box.disabled);
  if (range && last) {
    const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
    for (const each of boxes.slice(from, to + 1)) if (each instanceof HTMLInputElement) each.checked = true;
  } else {
    box.checked = !box.checked;
  }
  last = box;
  count();
}

document.addEventListener("input", applyFilters);
document.addEventListener("change", count);
document.addEventListener("selection", count);
applyFilters();
