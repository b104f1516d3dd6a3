// The tests of node, each with a limit that only a hang reaches.
import * as node from "node:test";

/** The slowest test takes 12 s on a fast machine. */
const TEST_TIMEOUT = 600_000;

/** How long a file may run on after its tests, such as for a connection that does not close. */
const EXIT_TIMEOUT = 60_000;

node.after(() => void setTimeout(() => process.exit(), EXIT_TIMEOUT).unref());

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
