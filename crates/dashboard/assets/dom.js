// Shortcuts for the DOM.
// @ts-check

/**
 * @param {string} selector
 * @param {ParentNode} [within]
 * @returns {HTMLElement | null}
 */
export const one = (selector, within = document) => within.querySelector(selector);

/**
 * @param {string} selector
 * @param {ParentNode} [within]
 * @returns {HTMLElement[]}
 */
export const all = (selector, within = document) => [...within.querySelectorAll(selector)].filter((e) => e instanceof HTMLElement);

/**
 * The nearest element around an event's target.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export const around = (event, selector) => {
  const found = event.target instanceof Element ? event.target.closest(selector) : null;
  return found instanceof HTMLElement ? found : null;
};

/**
 * @param {string} id
 * @returns {HTMLDialogElement | null}
 */
export const dialog = (id) => {
  const found = document.getElementById(id);
  return found instanceof HTMLDialogElement ? found : null;
};

/**
 * A text on one line, without what controls a terminal or reorders text.
 * @param {string} text
 */
export const printable = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, " ");
