// Copies commands.
// @ts-check
import { around, one } from "./dom.js";

document.addEventListener("click", async (event) => {
  const button = around(event, "[data-copy], [data-copy-text]");
  if (!button) return;
  const code = button.parentElement && one("code", button.parentElement);
  const text = button.dataset.copyText ?? code?.textContent ?? "";
  const label = button.dataset.label ?? button.textContent ?? "Copy";
  button.dataset.label = label;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Without permission, the text is at least selected.
    if (code) getSelection()?.selectAllChildren(code);
    button.textContent = code ? "Press Ctrl+C" : "Not copied";
  }
  setTimeout(() => (button.textContent = label), 1500);
});
