// Durations count on while the stream is live. `words::duration` in Rust follows the same rules.
// @ts-check
import { all } from "./dom.js";

// The server's clock may differ from the browser's.
const skew = Date.parse(document.body.dataset.now ?? "") - Date.now() || 0;

/** The server's time in milliseconds. */
export const now = () => Date.now() + skew;

/**
 * "22 s", "1 min 48 s", "41 min", "1 h 4 min", "3 days"
 * @param {number} seconds
 * @returns {string}
 */
export function duration(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  /** @param {number} large @param {string} unit @param {number} small @param {string} smallUnit */
  const two = (large, unit, small, smallUnit) => (small ? `${large} ${unit} ${small} ${smallUnit}` : `${large} ${unit}`);
  if (s < 60) return `${s} s`;
  if (s < 120) return two(1, "min", s - 60, "s");
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return two(Math.floor(s / 3600), "h", Math.floor(s / 60) % 60, "min");
  if (s < 172800) return "1 day";
  return `${Math.floor(s / 86400)} days`;
}

/** "13:52" */
export const clock = () => new Date(now()).toTimeString().slice(0, 5);

let frozen = true;

/**
 * While the stream is interrupted, times stay as they are.
 * @param {boolean} value
 */
export function freeze(value) {
  frozen = value;
}

export function tick() {
  if (frozen || document.hidden) return;
  const time = now();
  for (const element of all("time[data-time]")) {
    const at = Date.parse(element.getAttribute("datetime") ?? "");
    const text = duration((element.dataset.time === "until" ? at - time : time - at) / 1000);
    if (element.textContent !== text) element.textContent = text;
  }
}

setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);
