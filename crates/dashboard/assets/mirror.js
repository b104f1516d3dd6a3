// The command line that does the same as a form.
// @ts-check
import { around, one } from "./dom.js";

/** Commands of the decisions that have another name. */
const COMMANDS = /** @type {Record<string, string>} */ ({ acknowledge: "ack" });

/** @param {string} text */
const quote = (text) => (/^[\w\-./:=@%+,]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/**
 * @param {string} verb
 * @param {string} session
 * @param {FormData} fields
 */
function line(verb, session, fields) {
  const value = (/** @type {string} */ name) => String(fields.get(name) ?? "").trim();
  const words = ["belay", COMMANDS[verb] ?? verb, quote(session)];
  if (verb === "budget") {
    words.push(`${value("dollars") || "10"}usd`);
    if (value("resume")) words.push("--resume");
    return words.join(" ");
  }
  if (value("note") && verb !== "allow") words.push("-m", quote(value("note")));
  if (verb === "resume" && value("require_plan")) words.push("--require-plan");
  const cooldown = Number(value("cooldown_secs"));
  if (verb === "resume" && cooldown) words.push("--cooldown", cooldown % 3600 ? `${cooldown / 60}m` : `${cooldown / 3600}h`);
  return words.join(" ");
}

/**
 * Rewrites the command of the form around an element.
 * @param {Element} element
 * @param {string} [decision]
 */
export function mirror(element, decision) {
  const box = element.closest("[data-mirror]");
  const form = element.closest("form") ?? box?.querySelector("form");
  if (!(box instanceof HTMLElement) || !(form instanceof HTMLFormElement)) return;
  const code = one("[data-mirror-of] code", box);
  if (code) code.textContent = line(decision ?? box.dataset.mirror ?? "", box.dataset.short ?? "", new FormData(form));
}

document.addEventListener("input", (event) => event.target instanceof Element && mirror(event.target));
for (const kind of ["focusin", "pointerover"]) {
  document.addEventListener(kind, (event) => {
    const button = around(event, "button[name=decision]");
    if (button instanceof HTMLButtonElement) mirror(button, button.value);
  });
}
