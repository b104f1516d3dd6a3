// The tests of node, each with a limit that only a hang reaches.
import * as node from "node:test";

/** The slowest test takes 12 s on a fast machine. */
const TEST_TIMEOUT = 600_000;

/** @typedef {(context: import("node:test").TestContext) => Promise<void> | void} Run */

/**
 * @param {string} name
 * @param {Run} run
 */
export const test = (name, run) => node.test(name, { timeout: TEST_TIMEOUT }, run);

/** @param {() => Promise<void> | void} run */
export const before = (run) => node.before(run, { timeout: TEST_TIMEOUT });

/** @param {() => Promise<void> | void} run */
export const after = (run) => node.after(run, { timeout: TEST_TIMEOUT });
