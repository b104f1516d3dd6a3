// The one browser of the suite, and pages that fail a test if something is wrong with them.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { chromium } from "playwright-core";
import { WAIT_TIMEOUT } from "./world.js";

/**
 * @typedef {import("playwright-core").Page} Page
 * @typedef {import("playwright-core").Locator} Locator
 * @typedef {import("playwright-core").BrowserContext} Context
 * @typedef {import("./world.js").World} World
 */

/** Debian's browser; Playwright's own is not needed. */
export const CHROMIUM = process.env.BELAY_TEST_CHROMIUM ?? "/usr/bin/chromium";

/** Without what a browser does on its own behalf. */
const QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"];

export const launchOptions = () => ({
  executablePath: CHROMIUM,
  args: [...QUIET, ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])],
});

/** @returns {Promise<import("playwright-core").Browser>} */
async function browser() {
  const address = process.env.BELAY_TEST_BROWSER;
  if (address) return chromium.connect(address);
  assert.ok(existsSync(CHROMIUM), `${CHROMIUM} is not installed`);
  return chromium.launch(launchOptions());
}

/** A browser profile: cookies and storage of its own. */
export class Profile {
  /** Problems of all pages: errors of scripts, violations of the policy. */
  problems = /** @type {string[]} */ ([]);

  /** Requests that may fail in this test, for example while the server is away. */
  tolerated = /** @type {RegExp[]} */ ([]);

  /**
   * @param {import("playwright-core").Browser} browser
   * @param {Context} context
   * @param {World} world
   */
  constructor(browser, context, world) {
    this.browser = browser;
    this.context = context;
    this.world = world;
  }

  /**
   * A profile that is closed after the test. Nothing may have gone wrong in it by then.
   * @param {import("node:test").TestContext} test
   * @param {World} world
   * @param {import("playwright-core").BrowserContextOptions} [options]
   */
  static async open(test, world, options = {}) {
    const running = await browser();
    const context = await running.newContext({ baseURL: world.url, viewport: { width: 1440, height: 900 }, ...options });
    context.setDefaultTimeout(WAIT_TIMEOUT);
    const profile = new Profile(running, context, world);
    test.after(() => profile.#close());
    context.on("weberror", (error) => profile.problems.push(`uncaught: ${error.error().stack}`));
    context.on("console", (message) => {
      if (message.type() === "error" || /content security policy/i.test(message.text())) profile.problems.push(`${message.text()} ${message.location().url}`);
    });
    // Also what a page violates without saying so on the console.
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI}`));
    });
    return profile;
  }

  /**
   * A new tab.
   * @param {string} [path]
   */
  async tab(path = "/") {
    const page = await this.context.newPage();
    await page.goto(path);
    return page;
  }

  /** Opens the link of `belay open` in a new tab. */
  async logIn() {
    const page = await this.context.newPage();
    await page.goto(await this.world.loginLink());
    return page;
  }

  async #close() {
    await settled(this.context.close(), "a profile");
    await settled(this.browser.close(), "a connection to the browser");
    const unexpected = this.problems.filter((problem) => !this.tolerated.some((pattern) => pattern.test(problem)));
    assert.deepEqual(unexpected, [], "pages report problems");
    assert.equal(this.world.crashed, false, `the server crashed: ${this.world.errors}`);
  }
}

/**
 * Waits for the browser to close something. Rarely, it never does; what the test has checked is true nevertheless.
 * @param {Promise<void>} closed
 * @param {string} what
 */
async function settled(closed, what) {
  const given = new AbortController();
  const gaveUp = setTimeout(WAIT_TIMEOUT, "gave up", { signal: given.signal }).catch(() => null);
  if (await Promise.race([closed, gaveUp])) console.error(`the browser has not closed ${what}`);
  given.abort();
}

/**
 * Waits until the page is connected to the stream.
 * @param {Page} page
 */
export const live = (page) => page.locator("#live[data-state=live]").waitFor({ state: "attached" });

/**
 * @param {{ key: string } | string} agent
 */
const link = (agent) => `a[href="/sessions/${typeof agent === "string" ? agent : agent.key}"]`;

/**
 * The row of a session in the list of who needs a person. A row that is dealt with stays a while under the pointer.
 * @param {Page} page
 * @param {{ key: string } | string} agent
 */
export const need = (page, agent) => page.locator(`#needs li:not(.resolved):has(h3 ${link(agent)})`);

/**
 * The row of a session that works or waits by itself.
 * @param {Page} page
 * @param {{ key: string } | string} agent
 */
export const working = (page, agent) => page.locator(`#working tr[data-row]:has(${link(agent)})`);

/**
 * A button by the beginning of its label. A form that has just changed does not take a click yet.
 * @param {Page | Locator} within
 * @param {string} label
 */
export const button = (within, label) =>
  within.getByRole("button", { name: new RegExp(`^${label}`) }).and(within.locator(":not(form[data-settling] *)"));

/** @param {Locator} locator */
export const shows = (locator) => locator.first().waitFor({ state: "visible" });

/** @param {Locator} locator */
export const disappears = (locator) => locator.first().waitFor({ state: "detached" });

/**
 * Waits for the server's answer to a form.
 * @param {Locator} form
 * @param {"ok" | "bad"} [state]
 */
export async function answer(form, state = "ok") {
  const output = form.locator(`output.answer[data-state=${state}]`).first();
  await output.waitFor({ state: "attached" });
  return output.textContent();
}
