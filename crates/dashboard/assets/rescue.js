// What a person has typed is never lost: if its form disappears, the text stays above the part that changed, with what
// happened and a button to copy it.
// @ts-check
import { all } from "./dom.js";

/**
 * Keeps the notes in an element that is about to disappear.
 * @param {Element} element
 */
export function rescue(element) {
  const fields = element instanceof HTMLTextAreaElement ? [element] : [...element.querySelectorAll("textarea")];
  for (const field of fields) {
    if (field.value.trim() && field.value !== field.defaultValue) keep(field, element.closest("#main > *") ?? element);
  }
}

/**
 * @param {HTMLTextAreaElement} field
 * @param {Element} part
 */
function keep(field, part) {
  const note = document.createElement("aside");
  note.className = "note kept";
  note.setAttribute("role", "status");
  const what = document.createElement("p");
  what.textContent = "Not sent: this changed while you were typing.";
  // The form's address names the session.
  what.dataset.kept = field.form?.getAttribute("action") ?? "";
  const text = document.createElement("code");
  text.textContent = field.value;
  const copy = button("Copy the note");
  copy.dataset.copyText = field.value;
  const discard = button("Discard it");
  discard.addEventListener("click", () => note.remove());
  note.append(what, text, copy, discard);
  part.before(note);
  // The field may be visited again while its form is taken apart.
  field.value = field.defaultValue;
}

/** @param {string} label */
function button(label) {
  return Object.assign(document.createElement("button"), { type: "button", textContent: label });
}

// The new version of the page says who decided what.
document.addEventListener("refreshed", () => {
  const happened = (/** @type {string | null | undefined} */ about) => all("[data-happened]").find((element) => element.dataset.about === about)?.dataset.happened;
  for (const what of all("[data-kept]")) {
    const text = happened(what.dataset.kept);
    if (!text) continue;
    what.textContent = `Not sent: ${text}.`;
    delete what.dataset.kept;
  }
  for (const form of all("form[data-changed]")) {
    const text = happened(form.getAttribute("action"));
    if (text) form.dataset.changed = `changed meanwhile: ${text}`;
  }
});
