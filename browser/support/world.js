// A temporary home with a real resident process, and the commands and hooks that use it.
import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { newDir } from "./lifetime.js";

const PROGRAM = process.env.BELAY_TEST_BINARY ?? resolve(import.meta.dirname, "../../target/debug/belay");

/** Timeout of every wait, in milliseconds. Only a hang reaches it: a fast machine needs less than five seconds. */
export const WAIT_TIMEOUT = Number(process.env.BELAY_TEST_TIMEOUT ?? 120_000);

/** Directories that agents work in. */
const PROJECTS = ["shop", "blog", "billing-api", "docs-site", "infra", "admin-ui", "payments", "orders"];

/**
 * @typedef {object} Said What a command printed.
 * @property {string} out
 * @property {string} err
 * @property {number | null} code
 */

export class World {
  /** @type {import("node:child_process").ChildProcess | null} */
  #server = null;

  /**
   * @param {string} dir
   * @param {number} port
   * @param {string[]} settings
   * @param {string} timezone
   */
  constructor(dir, port, settings, timezone) {
    this.dir = dir;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.settings = settings;
    this.timezone = timezone;
    this.errors = "";
  }

  /**
   * A new home with a server.
   * @param {{ settings?: string[], timezone?: string }} [options] settings: `KEY=VALUE`, as for `--set`.
   */
  static async start({ settings = [], timezone = "UTC" } = {}) {
    const dir = newDir("world");
    for (const below of ["home", "run", "code", ...PROJECTS.map((name) => join("home/src", name))]) await mkdir(join(dir, below), { recursive: true });
    await mkdir(join(dir, "home/.config/belay"), { recursive: true });
    await writeFile(join(dir, "home/.config/belay/config.toml"), "[hooks]\nautostart = false\n");
    const world = new World(dir, await freePort(), settings, timezone);
    await world.serve();
    return world;
  }

  /** @param {string} name A directory that agents work in. */
  project(name) {
    return join(this.dir, "home/src", name);
  }

  get #options() {
    const env = {
      HOME: join(this.dir, "home"),
      XDG_RUNTIME_DIR: join(this.dir, "run"),
      PATH: "/usr/bin:/bin",
      TZ: this.timezone,
      USER: "ada",
      // Hooks take no path from their environment.
      __BELAY_TEST_USER_HOME: join(this.dir, "home"),
      // On a busy machine, hooks must not decide without the resident process.
      BELAY_HOOK_TIMEOUT: "5s",
      // An agent may run the tests, but the commands under test must not count as called by it.
      __BELAY_TEST_PROCESS_ROOT: String(process.pid),
    };
    return { env, cwd: join(this.dir, "code") };
  }

  /** Starts the resident process, always on the same port. */
  async serve() {
    const settings = ["notify.desktop=false", ...this.settings].flatMap((setting) => ["--set", setting]);
    const server = spawn(PROGRAM, ["serve", "--json", "--listen", `127.0.0.1:${this.port}`, ...settings], {
      ...this.#options,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#server = server;
    server.stderr.setEncoding("utf8").on("data", (text) => (this.errors += text));
    await new Promise((ready, failed) => {
      server.stdout.once("data", ready);
      server.once("error", failed);
      server.once("exit", (code) => failed(new Error(`belay serve exited with ${code}: ${this.errors}`)));
    });
  }

  /**
   * Stops the resident process.
   * @param {NodeJS.Signals} [signal]
   */
  async halt(signal = "SIGTERM") {
    const server = this.#server;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exited = new Promise((done) => server.once("exit", done));
    server.kill(signal);
    await exited;
  }

  async stop() {
    await this.halt("SIGKILL");
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Whether the server has ended by itself. */
  get crashed() {
    return this.#server?.signalCode === "SIGABRT" || this.#server?.signalCode === "SIGSEGV";
  }

  /**
   * Runs a command.
   * @param {string[]} args
   * @param {string} [input]
   * @returns {Promise<Said>}
   */
  run(args, input = "") {
    const child = spawn(PROGRAM, args, { ...this.#options, stdio: "pipe" });
    const said = { out: "", err: "", code: /** @type {number | null} */ (null) };
    child.stdout.setEncoding("utf8").on("data", (text) => (said.out += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (said.err += text));
    // A command may exit without reading its input.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    return new Promise((done, failed) => {
      child.once("error", failed);
      child.once("close", (code) => done({ ...said, code }));
    });
  }

  /**
   * Runs a command that must succeed, and reads its JSON.
   * @param {string[]} args
   * @param {string} [input]
   */
  async json(args, input) {
    const said = await this.run([...args, "--json"], input);
    if (said.code !== 0) throw new Error(`belay ${args.join(" ")} exited with ${said.code}: ${said.err}`);
    return JSON.parse(said.out);
  }

  /** A link that logs a browser in, once. */
  async loginLink() {
    return String((await this.json(["open", "--print"])).url);
  }

  /**
   * Posts events as another tool would.
   * @param {object[]} events
   */
  async post(events) {
    const said = await this.run(["events", "post"], events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    if (said.code !== 0) throw new Error(`events post exited with ${said.code}: ${said.out} ${said.err}`);
  }

  /**
   * A session as the command line shows it.
   * @param {string} id
   */
  async session(id) {
    return (await this.json(["show", id])).session;
  }

  /** @param {string} path */
  async get(path) {
    const response = await fetch(this.url + path);
    return { status: response.status, headers: response.headers, body: await response.text() };
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = address !== null && typeof address === "object" ? address.port : 0;
      server.close(() => found(port));
    });
  });
}

/**
 * Waits for a condition outside the browser.
 * @template T
 * @param {string} what
 * @param {() => Promise<T | null | undefined | false>} check
 * @param {number} [within] Milliseconds.
 * @returns {Promise<T>}
 */
export async function eventually(what, check, within = WAIT_TIMEOUT) {
  const deadline = Date.now() + within;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not within ${within} ms: ${what}`);
    await new Promise((next) => setTimeout(next, 50));
  }
}
