// Dialogs that ask first: a button names the dialog and the session.
// @ts-check
import { around, dialog, one } from "./dom.js";
import { openers } from "./forms.js";
import { mirror } from "./mirror.js";

document.addEventListener("click", (event) => {
  const button = around(event, "[data-ask]");
  const ask = button && dialog(button.dataset.ask ?? "");
  const form = ask?.querySelector("form");
  if (!button || !ask || !form) return;
  form.reset();
  form.action = button.dataset.action ?? "";
  form.dataset.short = button.dataset.short ?? "";
  for (const [name, value] of Object.entries(JSON.parse(button.dataset.fields ?? "{}"))) {
    const field = form.elements.namedItem(name);
    if (field instanceof HTMLInputElement) field.value = String(value);
  }
  const title = one("[data-title]", ask);
  if (title) title.textContent = button.dataset.title ?? "";
  const output = one("output.answer", form);
  if (output) output.textContent = "";
  openers.set(ask, button);
  mirror(form);
  ask.showModal();
});

document.addEventListener("click", (event) => {
  if (around(event, "[data-help]")) dialog("keys")?.showModal();
});
