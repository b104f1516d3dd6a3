// The command line that does the same as a form.
// @ts-check
import { around, one, printable } from "./dom.js";

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

/** Longest prompt of a task that is written on the command line. */
const MAX_PROMPT = 160;

/**
 * The command about a review task.
 * @param {string} verb
 * @param {string} task
 * @param {FormData} fields
 */
function reviewLine(verb, task, fields) {
  const value = (/** @type {string} */ name) => String(fields.get(name) ?? "").trim();
  const words = ["belay", "review", verb];
  const option = (/** @type {string} */ name, /** @type {string} */ text) => text && words.push(name, quote(text));
  if (verb === "start") {
    const prompt = value("prompt");
    if (prompt.length > MAX_PROMPT || prompt.includes("\n")) words.push("-f", "task.md");
    else words.push(quote(prompt || "task"));
    option("--title", value("title"));
    option("--dir", value("project_dir"));
    option("--builder", value("builder"));
    option("--reviewer", fields.getAll("reviewer").join(","));
    option("--arbiter", value("arbiter"));
    option("--quorum", value("quorum"));
    option("--timeout", value("minutes") && `${value("minutes")}m`);
    for (const gate of value("gates").split("\n")) option("--accept", gate.trim());
    if (value("workspace") === "worktree_with_changes") words.push("--with-changes");
    if (value("workspace") === "in_place") words.push("--in-place");
  } else {
    words.push(quote(task));
  }
  if (verb === "waive") {
    words.push(quote(value("issue")));
    option("--why", value("why"));
  }
  if (verb === "answer") {
    if (value("done") || !(value("fix") || value("sends_back"))) words.push("--done");
    else words.push("--fix", quote(value("fix") || "what to fix"));
  }
  if (verb === "start" || verb === "resume") {
    option("--rounds", value("rounds"));
    const amounts = [value("dollars") && `${value("dollars")}usd`, value("tokens") && `${value("tokens")}tokens`];
    option("--budget", amounts.filter(Boolean).join(","));
  }
  return words.join(" ");
}

/**
 * Rewrites the command of the form around an element.
 * @param {Element} element
 * @param {HTMLButtonElement} [button] The button that is about to be pressed.
 */
export function mirror(element, button) {
  const box = element.closest("[data-mirror]");
  const form = element.closest("form") ?? box?.querySelector("form");
  if (!(box instanceof HTMLElement) || !(form instanceof HTMLFormElement)) return;
  const code = one("[data-mirror-of] code", box);
  const fields = new FormData(form);
  if (button?.name) fields.set(button.name, button.value);
  const [verb = "", of] = (box.dataset.mirror ?? "").split(" ").reverse();
  const short = box.dataset.short ?? "";
  const text = of === "review" ? reviewLine(verb, short, fields) : line(button?.value || verb, short, fields);
  if (code) code.textContent = printable(text);
}

document.addEventListener("input", (event) => event.target instanceof Element && mirror(event.target));
for (const kind of ["focusin", "pointerover"]) {
  document.addEventListener(kind, (event) => {
    const button = around(event, "button[name=decision], button[name=done], [data-mirror] button.main");
    if (button instanceof HTMLButtonElement) mirror(button, button);
  });
}
