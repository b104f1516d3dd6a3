// Takes the pictures that README and docs show: `cargo xtask screenshots`. With a directory as its argument, it takes every
// page at every width in both themes instead, to look at.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { launchOptions, live } from "./support/browser.js";
import { newDir } from "./support/lifetime.js";
import { playedWorld } from "./support/scene.js";
import { World } from "./support/world.js";

const DOCS = join(import.meta.dirname, "../docs/images");

/**
 * @typedef {object} Picture
 * @property {string} name
 * @property {string} path
 * @property {number} width
 * @property {number} [height] Without it, the whole page.
 * @property {"light" | "dark"} theme
 */

/** @type {Record<string, string>} */
const PAGES = {
  overview: "/",
  session: "/sessions/claude-code:cart",
  incidents: "/incidents",
  spend: "/spend",
  history: "/history",
  settings: "/settings",
};

/** @type {Picture[]} */
const FOR_DOCS = [
  { name: "overview-dark", path: "/", width: 1440, height: 1500, theme: "dark" },
  { name: "overview-light", path: "/", width: 1440, height: 1500, theme: "light" },
  { name: "overview-narrow", path: "/", width: 390, height: 844, theme: "light" },
  { name: "session-light", path: "/sessions/claude-code:cart", width: 1440, height: 1108, theme: "light" },
  { name: "session-dark", path: "/sessions/claude-code:cart", width: 1440, height: 1108, theme: "dark" },
  { name: "incidents-light", path: "/incidents", width: 1440, height: 1000, theme: "light" },
  { name: "spend-light", path: "/spend", width: 1440, height: 700, theme: "light" },
];

/**
 * @param {Record<string, string>} pages
 * @returns {Picture[]}
 */
function everything(pages) {
  const sizes = [1440, 1024, 768, 390].flatMap((width) => (/** @type {const} */ (["light", "dark"])).map((theme) => ({ width, theme })));
  return Object.entries(pages).flatMap(([name, path]) => sizes.map(({ width, theme }) => ({ name: `${name}-${width}-${theme}`, path, width, theme })));
}

/** A zone in which it is early afternoon, so that the day has something to show. */
function afternoon() {
  const hours = Math.max(-12, Math.min(14, 14 - new Date().getUTCHours()));
  // The sign of these names is inverted.
  return hours === 0 ? "UTC" : `Etc/GMT${hours > 0 ? "-" : "+"}${Math.abs(hours)}`;
}

/**
 * The window as WebP, which is much smaller than PNG. Playwright itself does not write it.
 * @param {import("playwright-core").Page} page
 */
async function webp(page) {
  const devtools = await page.context().newCDPSession(page);
  const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: 88 });
  await devtools.detach();
  return Buffer.from(data, "base64");
}

/**
 * @param {import("playwright-core").Browser} browser
 * @param {World} world
 * @param {string} dir
 * @param {Picture[]} pictures
 */
async function take(browser, world, dir, pictures) {
  const context = await browser.newContext({ baseURL: world.url, timezoneId: world.timezone });
  const page = await context.newPage();
  await page.goto(await world.loginLink());
  for (const { name, path, width, height, theme } of pictures) {
    await page.setViewportSize({ width, height: height ?? 900 });
    await page.emulateMedia({ colorScheme: theme });
    await page.goto(path);
    await live(page);
    const file = join(dir, `${name}.${height ? "webp" : "png"}`);
    if (height) await writeFile(file, await webp(page));
    else await page.screenshot({ path: file, animations: "disabled", fullPage: true });
    console.log(file);
  }
  await context.close();
}

/** Debian's default fonts are wider than those of other systems; the pictures show what most people see. */
const FONTS = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include>/etc/fonts/fonts.conf</include>
  ${[["system-ui", "Inter"], ["sans-serif", "Inter"], ["monospace", "JetBrains Mono"]]
    .map(([name, font]) => `<match target="pattern"><test name="family"><string>${name}</string></test><edit name="family" mode="prepend" binding="strong"><string>${font}</string></edit></match>`)
    .join("\n  ")}
</fontconfig>
`;

const out = process.argv[2];
const dir = out ?? DOCS;
await mkdir(dir, { recursive: true });
const fonts = newDir("fonts");
await writeFile(join(fonts, "fonts.conf"), FONTS);
const browser = await chromium.launch({ ...launchOptions(), env: { ...process.env, FONTCONFIG_FILE: join(fonts, "fonts.conf") } });
const { world } = await playedWorld({ timezone: afternoon() });
const empty = await World.start();
try {
  await take(browser, world, dir, out ? everything(PAGES) : FOR_DOCS);
  if (out) await take(browser, empty, dir, everything({ start: "/" }));
} finally {
  await browser.close();
  await world.stop();
  await empty.stop();
}
