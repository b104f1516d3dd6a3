// axe finds nothing serious, whatever the theme and the width.
import { after, before, test } from "../support/test.js";
import { checkAccessibility } from "../support/axe.js";
import { Profile, button, live, need, shows } from "../support/browser.js";
import { PAGES, playedWorld } from "../support/scene.js";
import { World } from "../support/world.js";

/** @type {World} */
let world;
/** @type {Awaited<ReturnType<typeof playedWorld>>["agents"]} */
let agents;

before(async () => {
  ({ world, agents } = await playedWorld());
});
after(() => world.stop());

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  for (const width of [1440, 1024, 768, 390]) {
    test(`pages in ${colorScheme} at ${width} px`, async (t) => {
      const profile = await Profile.open(t, world, { colorScheme, viewport: { width, height: 900 } });
      const page = await profile.logIn();
      for (const path of PAGES) {
        await page.goto(path);
        await live(page);
        await checkAccessibility(page, path);
      }
    });
  }
}

test("dialogs", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  for (const [label, dialog] of [["Resume", "#ask-resume"], ["Kill", "#ask-kill"], ["Other", "#ask-budget"]]) {
    await button(need(page, label === "Other" ? agents.state : agents.cart), label ?? "").click();
    await shows(page.locator(dialog ?? ""));
    await checkAccessibility(page, dialog ?? "");
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("?");
  await shows(page.locator("#keys"));
  await checkAccessibility(page, "#keys");
});

test("pages before the first session, without login, and of errors", async (t) => {
  const empty = await World.start();
  const profile = await Profile.open(t, empty);
  t.after(() => empty.stop());
  profile.tolerated.push(/status of 404/);
  const page = await profile.tab();
  for (const width of [1440, 1024, 768, 390]) {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.goto("/");
      await checkAccessibility(page, `landing in ${colorScheme} at ${width} px`);
      await page.goto("/sessions/claude-code:nobody");
      await checkAccessibility(page, `error in ${colorScheme} at ${width} px`);
    }
  }
});
