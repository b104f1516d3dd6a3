// A suite that is ended leaves nothing behind.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { processesOf } from "../support/lifetime.js";
import { test } from "../support/test.js";
import { eventually } from "../support/world.js";

const RUN = join(import.meta.dirname, "../run.js");

/** A file whose test starts a server and a hook, and never ends. */
const ENDLESS = join(import.meta.dirname, "../support/endless.js");

for (const signal of /** @type {const} */ (["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])) {
  test(`a suite that gets ${signal} ends its servers, hooks and browser, and removes their files`, async (t) => {
    // Not below the directory of this suite: the path of a socket must be short.
    const root = await mkdtemp("/tmp/belay-ended-");
    t.after(() => rm(root, { recursive: true, force: true }));
    const env = { PATH: process.env.PATH, BELAY_TEST_BINARY: process.env.BELAY_TEST_BINARY, BELAY_TEST_CHROMIUM: process.env.BELAY_TEST_CHROMIUM, TMPDIR: root };
    const suite = spawn(process.execPath, [RUN, ENDLESS], { env, stdio: ["ignore", "pipe", "inherit"] });
    // Otherwise a suite that does not end keeps this file from ending, too.
    t.after(() => suite.kill("SIGKILL"));
    const ended = new Promise((done) => suite.once("close", done));
    let out = "";
    suite.stdout.setEncoding("utf8").on("data", (text) => (out += text));
    await eventually("a hook waits", async () => assert.equal(suite.exitCode, null, out) ?? out.includes("a hook waits"));
    assert.ok(processesOf(root).length >= 4, "a server, a hook, a browser and a file of the suite");
    suite.kill(signal);
    await ended;
    await eventually("nothing runs", async () => processesOf(root).length === 0);
    await eventually("nothing is left", async () => (await readdir(root)).length === 0);
  });
}
