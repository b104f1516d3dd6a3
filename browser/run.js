// Runs the tests with one browser: `node run.js [FILE...]`. With BELAY_TEST_REPORT, writes a line per test:
// outcome, seconds and name, separated by tabs.
import { createWriteStream, existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { chromium } from "playwright-core";
import { CHROMIUM, launchOptions } from "./support/browser.js";
import "./support/lifetime.js";

const tests = join(import.meta.dirname, "tests");
const named = process.argv.slice(2).map((file) => resolve(file));
const files = named.length ? named : readdirSync(tests).filter((name) => name.endsWith(".test.js")).map((name) => join(tests, name));

if (!existsSync(CHROMIUM)) {
  console.error(`${CHROMIUM} is not installed`);
  process.exit(2);
}
const browser = await chromium.launchServer(launchOptions());
process.env.BELAY_TEST_BROWSER = browser.wsEndpoint();

const report = process.env.BELAY_TEST_REPORT ? createWriteStream(process.env.BELAY_TEST_REPORT) : null;

/**
 * @param {string} outcome
 * @param {{ name: string, nesting: number, file?: string, details: { duration_ms: number, type?: string } }} test
 */
function note(outcome, { name, details }) {
  // The tests count, not the files and groups that contain them.
  if (details.type === "suite" || files.includes(name)) return;
  report?.write(`${outcome}\t${(details.duration_ms / 1000).toFixed(3)}\t${name.replaceAll(/\s+/g, " ")}\n`);
}

// Each test has a limit of its own.
const stream = run({ files, concurrency: 2 });
// A test that is marked as `todo` is a known defect: it does not fail the run, but is reported.
stream.on("test:pass", (test) => note(test.skip || test.todo ? "skip" : "pass", test));
stream.on("test:fail", (test) => {
  if (test.todo) return note("skip", test);
  process.exitCode = 1;
  note("fail", test);
});
stream.on("end", () => browser.close());
// The types of this Node declare the reporter as a class only.
stream.compose(/** @type {any} */ (spec)).pipe(process.stdout);
