// Accessibility checks. The DevTools protocol injects axe, so the pages keep their strict policy.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Fails if the page has serious or critical problems.
 * @param {import("playwright-core").Page} page
 * @param {string} what
 */
export async function checkAccessibility(page, what) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Runtime.evaluate", { expression: source });
  const { result, exceptionDetails } = await devtools.send("Runtime.evaluate", {
    expression: `axe.run(document, { resultTypes: ["violations"] }).then((found) => JSON.stringify(found.violations))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await devtools.detach();
  assert.equal(exceptionDetails, undefined, what);
  /** @type {import("axe-core").Result[]} */
  const violations = JSON.parse(result.value);
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const text = serious.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} (${node.failureSummary})`));
  assert.deepEqual(text, [], what);
}
