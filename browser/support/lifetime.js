// Nothing outlives the suite: its directories are removed and its processes ended, however it ends.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How often a process looks whether the one that started it still runs, in milliseconds. */
const PARENT_POLL = 500;

/** How often the end of killed processes is looked for, in milliseconds, and for how long. */
const KILL_POLL = 10;
const CLEAN_UP_TIMEOUT = 60_000;

/** A directory for everything that this process and its children make. `run.js` sets it for the files of the suite. */
const root = process.env.BELAY_TEST_ROOT ?? mkdtempSync(join(tmpdir(), "belay-browser-"));

/** Whether this process made the directory, and therefore removes it. */
const owned = process.env.BELAY_TEST_ROOT === undefined;
process.env.BELAY_TEST_ROOT = root;
// The browser's own files are below it, too.
process.env.TMPDIR = root;

/**
 * A new dir below the root.
 * @param {string} name
 */
export function newDir(name) {
  mkdirSync(root, { recursive: true });
  return mkdtempSync(join(root, `${name}-`));
}

/**
 * The processes whose environment names the dir. Everything that the suite starts has its home there.
 * @param {string} dir
 */
export function processesOf(dir) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").includes(dir);
      } catch {
        // It has ended, or belongs to another user.
        return false;
      }
    });
}

/** Ends what runs in the directory, this process aside, and removes it. Never throws: the process would not exit. */
function cleanUp() {
  const deadline = Date.now() + CLEAN_UP_TIMEOUT;
  for (;;) {
    const pids = processesOf(root);
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    }
    // A process writes until its end, which is later than the signal and, for its last threads, later than its environment.
    // The files that it adds meanwhile make a removal fail, which does not look at a directory twice.
    try {
      if (!pids.length) return rmSync(root, { recursive: true, force: true });
    } catch (error) {
      if (Date.now() >= deadline) return console.error(`cannot remove ${root}: ${error}`);
    }
    if (Date.now() >= deadline) return console.error(`cannot end the processes ${pids.join(", ")} of ${root}`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, KILL_POLL);
  }
}

if (owned) process.on("exit", cleanUp);
for (const [signal, number] of /** @type {const} */ ([["SIGHUP", 1], ["SIGINT", 2], ["SIGTERM", 15]])) {
  process.on(signal, () => process.exit(128 + number));
}

// Without a parent, nobody reads the result.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid === parent) return;
  cleanUp();
  process.exit(1);
}, PARENT_POLL).unref();
