// Forms post in place: pending, then what the server answered. The row says so.
// @ts-check
import { all, around, dialog, one, printable } from "./dom.js";
import { decides } from "./morph.js";
import { refresh } from "./refresh.js";

/**
 * The button that opened a dialog, to answer beside it.
 * @type {WeakMap<HTMLDialogElement, HTMLElement>}
 */
export const openers = new WeakMap();

/**
 * Buttons whose question was answered with yes, while their form is submitted.
 * @type {WeakSet<HTMLElement>}
 */
const confirmed = new WeakSet();

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !("post" in form.dataset)) return;
  event.preventDefault();
  if (form.ariaBusy === "true" || form.closest(".resolved")) return;
  const button = event.submitter;
  // The yes answers a question that quoted the form, wherever the form is by now.
  if (button && confirmed.has(button)) return send(form, button);
  if ("settling" in form.dataset) return answer(form, "This has just changed. Read it, then decide.", "bad");
  if (button?.dataset.confirm) return confirm(form, button);
  send(form, button);
});

/**
 * Asks before something is decided that cannot be undone.
 * @param {HTMLFormElement} form
 * @param {HTMLElement} button
 */
function confirm(form, button) {
  const ask = dialog("ask-confirm");
  const text = ask && one("[data-text]", ask);
  const yes = ask && one("[data-yes]", ask);
  if (!ask || !text || !yes) return;
  const asked = decides(form);
  const question = button.dataset.confirm ?? "";
  text.textContent = question;
  yes.textContent = (button.textContent ?? "").replace("…", "");
  yes.onclick = () => {
    ask.close();
    // The yes was to the question, not to what the form has become since.
    if (decides(form) !== asked || button.dataset.confirm !== question) {
      return answer(form, "Not sent: this has changed since you were asked. Read it, then decide.", "bad");
    }
    confirmed.add(button);
    form.requestSubmit(button);
    confirmed.delete(button);
  };
  ask.showModal();
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} button
 */
async function send(form, button) {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form, button)) fields.append(name, String(value));
  const address = form.getAttribute("action");
  form.ariaBusy = "true";
  answer(form, "Sending", "pending");
  try {
    const response = await fetch(form.action, { method: "POST", body: fields, headers: { Accept: "application/json" } });
    const body = await response.json().catch(() => ({}));
    // The form may be about something else by now, beside which the answer would be wrong.
    if (response.ok && !body.location && form.getAttribute("action") !== address) refresh();
    else if (response.ok) succeeded(form, body);
    else failed(form, response.status, body.error ?? body);
  } catch {
    answer(form, "Not sent: the server does not answer. Nothing was changed.", "bad");
  } finally {
    form.ariaBusy = null;
  }
}

/**
 * @param {HTMLFormElement} form
 * @param {{ message?: string, location?: string }} body
 */
function succeeded(form, body) {
  if (body.location) return location.assign(body.location);
  const text = body.message ?? "Done.";
  const around = form.closest("dialog");
  if (around instanceof HTMLDialogElement) {
    answer(form, "", "");
    around.close();
    const row = openers.get(around)?.closest("form");
    if (row instanceof HTMLFormElement) answer(row, text, "ok");
  } else {
    answer(form, text, "ok");
  }
  // What was typed is delivered; the form may change again.
  for (const field of all("textarea", form)) if (field instanceof HTMLTextAreaElement) field.value = field.defaultValue;
  for (const box of all(".pick input:checked", form)) if (box instanceof HTMLInputElement) box.checked = false;
  delete form.dataset.changed;
  document.dispatchEvent(new Event("selection"));
  refresh();
}

/**
 * @param {HTMLFormElement} form
 * @param {number} status
 * @param {{ message?: string, hint?: string }} error
 */
function failed(form, status, error) {
  const fallback = status === 403 ? "Not done: log in again with belay open." : `Not done: the server answered ${status}.`;
  const text = error.message ? `Not done: ${error.message}${/[.!?]$/.test(error.message) ? "" : "."}` : fallback;
  answer(form, error.hint ? `${text} Hint: ${error.hint}` : text, "bad");
  // Someone else was faster: show what holds now.
  if (status === 409 || status === 422) refresh();
}

/**
 * @param {HTMLFormElement} form
 * @param {string} text
 * @param {string} state
 */
function answer(form, text, state) {
  const output = one("output.answer", form);
  if (!output) return;
  // A message may quote what was typed.
  output.textContent = printable(text);
  output.dataset.state = state;
}

// A field that the browser refuses has to be seen. The event does not bubble.
document.addEventListener(
  "invalid",
  ({ target }) => {
    const details = target instanceof Element ? target.closest("details") : null;
    if (details) details.open = true;
  },
  true,
);

document.addEventListener("click", (event) => {
  if (around(event, "[data-close]")) around(event, "dialog")?.closest("dialog")?.close();
});
