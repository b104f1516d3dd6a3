// Takes the pictures that README and docs show: `cargo xtask screenshots`.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { launchOptions, live } from "./support/browser.js";
import { play } from "./support/scene.js";
import { World } from "./support/world.js";

const FOLDER = join(import.meta.dirname, "../docs/images");

/** Name, address, widths and themes of the pictures. */
const PICTURES = /** @type {const} */ ([
  { name: "overview", path: "/" },
  { name: "session", path: "/sessions/claude-code:cart" },
  { name: "incidents", path: "/incidents" },
]);

const VIEWS = /** @type {const} */ ([
  { name: "light", colorScheme: "light", width: 1440, height: 900 },
  { name: "dark", colorScheme: "dark", width: 1440, height: 900 },
  { name: "narrow", colorScheme: "light", width: 390, height: 844 },
]);

await mkdir(FOLDER, { recursive: true });
const world = await World.start();
const browser = await chromium.launch(launchOptions());
try {
  await play(world);
  for (const { name: view, colorScheme, width, height } of VIEWS) {
    const context = await browser.newContext({ baseURL: world.url, colorScheme, viewport: { width, height }, timezoneId: "UTC" });
    const page = await context.newPage();
    await page.goto(await world.loginLink());
    for (const { name, path } of PICTURES) {
      await page.goto(path);
      await live(page);
      const file = join(FOLDER, `${name}-${view}.png`);
      await page.screenshot({ path: file, animations: "disabled" });
      console.log(file);
    }
    await context.close();
  }
} finally {
  await browser.close();
  await world.stop();
}
