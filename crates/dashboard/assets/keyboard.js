// The keyboard. Single keys can be switched off in Settings.
// @ts-check
import { all, dialog, one } from "./dom.js";
import { select } from "./select.js";

const SETTING = "belay.single-keys";
const isOff = () => localStorage.getItem(SETTING) === "off";

const rows = () => all("[data-row]").filter((row) => !row.hidden);
const current = () => document.activeElement?.closest("[data-row]") ?? null;

/** @param {number} step */
function move(step) {
  const list = rows();
  const at = list.findIndex((row) => row === current());
  const next = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + step))];
  if (!next) return;
  next.scrollIntoView({ block: "nearest" });
  one("a", next)?.focus({ preventScroll: true });
}

/**
 * Presses a button of the row in focus, or of the page if it has no rows in focus.
 * @param {string} selector
 */
function press(selector) {
  const row = current();
  const found = row ? one(selector, row) : all(selector).find((element) => !element.closest("[data-row]"));
  if (!found) return;
  if (found instanceof HTMLButtonElement && found.type === "submit") found.form?.requestSubmit(found);
  else found.click();
}

/** @type {Record<string, () => void>} */
const KEYS = {
  j: () => (rows().length ? move(1) : press("[data-key=j]")),
  k: () => (rows().length ? move(-1) : press("[data-key=k]")),
  x: () => current() && select(/** @type {Element} */ (current()), false),
  X: () => current() && select(/** @type {Element} */ (current()), true),
  a: () => press("[data-key=a]"),
  r: () => press("[data-key=r], [data-ask=ask-resume], [data-ask=ask-review-resume]"),
  K: () => press("[data-ask=ask-kill], [data-key=K]"),
  // A permission is only answered while its row has the focus.
  y: () => current() && press("[data-key=y]"),
  n: () => current() && press("[data-key=n]"),
  c: () => press(current() ? "[data-copy], [data-copy-text]" : "[data-mirror-of] [data-copy], [data-copy]"),
  "/": () => one("main [type=search]")?.focus(),
  "?": () => dialog("keys")?.showModal(),
};

/** Keys that may be held down. Of all others, a repetition would decide about what comes next. */
const MOVEMENT = ["j", "k"];

/** When `g` was pressed. Times count from the load of the page, so that 0 would be a moment ago on a new one. */
let going = -Infinity;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isOff()) return;
  const target = event.target;
  if (target instanceof Element && target.matches("input:not([type=checkbox]), textarea, select, dialog *")) {
    if (event.key === "Escape" && target instanceof HTMLElement && target.matches("[type=search]")) target.blur();
    return;
  }
  // `g` and a letter within a second go to a page.
  const link = event.timeStamp - going < 1000 ? one(`[data-go="${CSS.escape(event.key)}"]`) : null;
  going = event.key === "g" ? event.timeStamp : -Infinity;
  if (link) {
    event.preventDefault();
    return link.click();
  }
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  if (!event.repeat || MOVEMENT.includes(event.key)) action();
});

const toggle = one("[data-single-keys]");
if (toggle instanceof HTMLInputElement) {
  toggle.checked = !isOff();
  toggle.addEventListener("change", () => localStorage.setItem(SETTING, toggle.checked ? "on" : "off"));
}
