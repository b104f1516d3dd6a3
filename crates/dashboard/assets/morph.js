// Changes an element into another one in place: elements keep their identity, and with it focus, scroll position, open
// details and what a person has typed.
// @ts-check
import { rescue } from "./rescue.js";

/** Attributes that belong to the reader, not to the server. */
const OWN = { DETAILS: ["open"], DIALOG: ["open"], FORM: ["data-settling", "aria-busy"] };

/** A click within this time of a change was meant for what was there before, in milliseconds. */
const SETTLING = 1000;

/** Distance from the end of an output from which on a person reads what is above, in pixels. */
const SCROLLED = 16;

/**
 * @param {Element} from
 * @param {Element} to
 */
export function morph(from, to) {
  // Most of a long page is as it was. The browser compares much faster than this script does.
  if (from.isEqualNode(to)) return;
  if (from.tagName !== to.tagName) {
    rescue(from);
    if (to instanceof HTMLFormElement || from.closest("[data-linger]")) settleAll(to);
    return from.replaceWith(to);
  }
  if (from instanceof HTMLFormElement && to instanceof HTMLFormElement && isTyped(from)) {
    if (takes(to, from)) {
      if (from.method === "post" && !from.isEqualNode(to)) from.dataset.changed = "changed meanwhile";
      return;
    }
    rescue(from);
  }
  if (from instanceof HTMLFormElement && to instanceof HTMLFormElement) {
    if (decides(from) !== decides(to)) settle(from);
    // The answer was about something else. What a decision changes in its own form leaves the address as it is.
    if (from.getAttribute("action") !== to.getAttribute("action")) forget(from);
  }
  // Output that a person has scrolled up in stays until they are at its end again.
  if (from.matches("[data-tail]") && from.id === to.id && from.scrollTop < -SCROLLED) return;
  // What the server answered to this reader.
  if (from.matches("output.answer")) return;
  attributes(from, to);
  children(from, to);
}

/**
 * What a click in a form decides: its address, hidden fields and buttons.
 * @param {HTMLFormElement} form
 */
export function decides(form) {
  const fields = [...form.elements].flatMap((field) => {
    if (field instanceof HTMLButtonElement) return [[field.name, field.value, field.textContent]];
    return field instanceof HTMLInputElement && field.type === "hidden" ? [[field.name, field.value]] : [];
  });
  return JSON.stringify([form.getAttribute("action"), fields]);
}

/**
 * Nobody has read what the form is about now, so it does not take a click yet.
 * @param {HTMLFormElement} form
 */
function settle(form) {
  const since = String(performance.now());
  form.dataset.settling = since;
  setTimeout(() => {
    if (form.dataset.settling === since) delete form.dataset.settling;
  }, SETTLING);
}

/**
 * Settles an element that is a form, and the forms in it.
 * @param {Element} element
 */
function settleAll(element) {
  for (const form of [element, ...element.querySelectorAll("form")]) if (form instanceof HTMLFormElement) settle(form);
}

/** @param {HTMLFormElement} form */
function forget(form) {
  for (const output of form.querySelectorAll("output.answer")) {
    output.textContent = "";
    output.removeAttribute("data-state");
  }
}

/**
 * Whether a person is filling in the form.
 * @param {HTMLFormElement} form
 */
function isTyped(form) {
  return [...form.elements].some((field) => {
    if (field instanceof HTMLTextAreaElement) return field.value !== field.defaultValue || field === document.activeElement;
    if (field instanceof HTMLSelectElement) return field === document.activeElement;
    if (!(field instanceof HTMLInputElement) || field.type === "hidden" || field.closest(".pick")) return false;
    if (field.type === "checkbox") return field.checked !== field.defaultChecked;
    return field.value !== field.defaultValue || field === document.activeElement;
  });
}

/**
 * Whether a form can take what was typed into another one.
 * @param {HTMLFormElement} to
 * @param {HTMLFormElement} typed
 */
function takes(to, typed) {
  const names = [...typed.elements].flatMap((field) => (field instanceof HTMLTextAreaElement && field.value ? [field.name] : []));
  return to.action === typed.action && names.every((name) => to.elements.namedItem(name));
}

/**
 * @param {Element} from
 * @param {Element} to
 */
function attributes(from, to) {
  const own = /** @type {Record<string, string[]>} */ (OWN)[from.tagName] ?? [];
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !own.includes(name)) from.removeAttribute(name);
  }
  for (const { name, value } of [...to.attributes]) {
    if (!own.includes(name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
}

/**
 * @param {Element} from
 * @param {Element} to
 */
function children(from, to) {
  const stable = from.hasAttribute("data-stable");
  const before = [...from.children];
  const wanted = new Set([...to.children].map((child) => child.id).filter(Boolean));
  for (const child of [...from.children]) {
    if (child.id && !wanted.has(child.id)) leave(child, from);
  }
  const byId = new Map([...from.children].map((child) => [child.id, child]));
  /** @type {ChildNode | null} */
  let cursor = from.firstChild;
  for (const next of [...to.childNodes]) {
    while (cursor instanceof Element && cursor.classList.contains("resolved")) cursor = cursor.nextSibling;
    const known = next instanceof Element ? (next.id ? (byId.get(next.id) ?? null) : counterpart(from, next)) : null;
    if (known) {
      if (known === cursor) cursor = cursor.nextSibling;
      else if (!stable) move(from, known, cursor);
      morph(known, /** @type {Element} */ (next));
    } else if (cursor && isAlike(cursor, next)) {
      const current = cursor;
      cursor = cursor.nextSibling;
      if (current instanceof Element) morph(current, /** @type {Element} */ (next));
      else if (current.nodeValue !== next.nodeValue) current.nodeValue = next.nodeValue;
    } else {
      // Elsewhere, a form that appears with its surroundings took the place of nothing.
      if (next instanceof HTMLFormElement || (next instanceof Element && from.closest("[data-linger]"))) settleAll(next);
      from.insertBefore(next, stable ? null : cursor);
    }
  }
  while (cursor) {
    const rest = cursor;
    cursor = cursor.nextSibling;
    const keep = rest instanceof Element && (rest.classList.contains("resolved") || (rest.id && wanted.has(rest.id)));
    if (!keep) {
      if (rest instanceof Element) rescue(rest);
      rest.remove();
    }
  }
  // Another row may be under the pointer now. Rows that are added at the end shift none.
  if (from.hasAttribute("data-linger") && before.some((row, at) => row !== from.children[at])) settleAll(from);
}

/**
 * The answer to a form stays whatever is around it.
 * @param {Element} parent
 * @param {Element} next
 */
const counterpart = (parent, next) =>
  (next.matches("output.answer") && [...parent.children].find((child) => child.matches("output.answer"))) || null;

/**
 * Two nodes without an id of their own that can become each other.
 * @param {ChildNode} a
 * @param {ChildNode} b
 */
const isAlike = (a, b) =>
  a.nodeType === b.nodeType && a.nodeName === b.nodeName && !(a instanceof Element && a.id) && !(b instanceof Element && b.id);

/**
 * @param {Element} parent
 * @param {Element} child
 * @param {ChildNode | null} before
 */
function move(parent, child, before) {
  // Newer browsers move without losing the focus.
  const { moveBefore = parent.insertBefore } = /** @type {{ moveBefore?: typeof parent.insertBefore }} */ (parent);
  moveBefore.call(parent, child, before);
}

/**
 * A row that is gone stays, greyed, until pointer and focus have left it.
 * @param {Element} child
 * @param {Element} parent
 */
function leave(child, parent) {
  if (child.classList.contains("resolved")) return;
  rescue(child);
  if (!parent.hasAttribute("data-linger") || !isUsed(child)) return child.remove();
  child.classList.add("resolved");
  child.addEventListener("pointerleave", removeIfLeft);
  child.addEventListener("focusout", removeIfLeft);
}

/** @param {Element} row */
const isUsed = (row) => row.matches(":hover") || row.contains(document.activeElement);

/** @param {Event} event */
function removeIfLeft({ currentTarget: row }) {
  // The new focus is only known after the event. The row may also be back by then.
  setTimeout(() => {
    if (!(row instanceof Element) || !row.classList.contains("resolved") || isUsed(row)) return;
    const list = row.parentElement;
    row.remove();
    // The rows below have moved up, perhaps under the pointer that has just left.
    if (list) settleAll(list);
  });
}
