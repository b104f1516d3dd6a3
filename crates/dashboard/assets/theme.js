// Light and dark. The cookie lets the server render the choice, so nothing flashes.
// @ts-check
import { around } from "./dom.js";

const root = document.documentElement;

document.addEventListener("click", (event) => {
  if (!around(event, "[data-theme-toggle]")) return;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `belay_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
});
