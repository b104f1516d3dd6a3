// Changes an element into another one in place: elements keep their identity, and with it focus, scroll position, open
// details and what a person has typed.
// @ts-check

/** Attributes that belong to the reader, not to the server. */
const OWN = { DETAILS: ["open"], DIALOG: ["open"] };

/**
 * @param {Element} from
 * @param {Element} to
 */
export function morph(from, to) {
  if (from.tagName !== to.tagName) return from.replaceWith(to);
  if (from instanceof HTMLFormElement && isTyped(from)) {
    if (!from.isEqualNode(to)) from.dataset.changed = "changed meanwhile";
    return;
  }
  // What the server answered to this reader.
  if (from.matches("output.answer")) return;
  attributes(from, to);
  children(from, to);
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
  const wanted = new Set([...to.children].map((child) => child.id).filter(Boolean));
  for (const child of [...from.children]) {
    if (child.id && !wanted.has(child.id)) leave(child, from);
  }
  /** @type {ChildNode | null} */
  let cursor = from.firstChild;
  for (const next of [...to.childNodes]) {
    while (cursor instanceof Element && cursor.classList.contains("resolved")) cursor = cursor.nextSibling;
    const known = next instanceof Element && next.id ? byId(from, next.id) : null;
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
      from.insertBefore(next, stable ? null : cursor);
    }
  }
  while (cursor) {
    const rest = cursor;
    cursor = cursor.nextSibling;
    const keep = rest instanceof Element && (rest.classList.contains("resolved") || (rest.id && wanted.has(rest.id)));
    if (!keep) rest.remove();
  }
}

/**
 * @param {Element} parent
 * @param {string} id
 */
const byId = (parent, id) => [...parent.children].find((child) => child.id === id) ?? null;

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
  const used = () => child.matches(":hover") || child.contains(document.activeElement);
  if (!parent.hasAttribute("data-linger") || !used()) return child.remove();
  child.classList.add("resolved");
  const removeIfLeft = () => {
    // The new focus is only known after the event.
    setTimeout(() => used() || child.remove());
  };
  child.addEventListener("pointerleave", removeIfLeft);
  child.addEventListener("focusout", removeIfLeft);
}
