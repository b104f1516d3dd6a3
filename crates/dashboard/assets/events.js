// Searches the events of a session on the server while a person types. Without this, the form does it.
// @ts-check
import { refresh } from "./refresh.js";

/** Milliseconds without a key before the search begins. */
const PAUSE = 200;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {HTMLFormElement} form */
function search(form) {
  const url = new URL(location.href);
  // The new search begins with the newest events.
  url.searchParams.delete("before");
  for (const [name, value] of new FormData(form)) {
    if (value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  history.replaceState(null, "", url);
  refresh(["events"]);
}

for (const kind of ["input", "change", "submit"]) {
  document.addEventListener(kind, (event) => {
    const form = event.target instanceof Element ? event.target.closest("form[data-events]") : null;
    if (!(form instanceof HTMLFormElement)) return;
    if (kind === "submit") event.preventDefault();
    clearTimeout(timer);
    timer = setTimeout(() => search(form), kind === "input" ? PAUSE : 0);
  });
}
