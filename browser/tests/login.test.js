// Who may read, and who may decide.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, need, shows } from "../support/browser.js";
import { World } from "../support/world.js";

/** @type {World} */
let world;
/** @type {Agent} */
let agent;

before(async () => {
  world = await World.start();
  agent = await Agent.start(world, "held", { prompt: "Fix the build" });
  await agent.loop();
});
after(() => world.stop());

test("without login, pages are read-only and say how to log in", async (t) => {
  const profile = await Profile.open(t, world);
  const page = await profile.tab();
  const row = need(page, agent);
  await shows(row);
  await shows(page.getByText("To decide from here, run belay open"));
  assert.equal(await row.getByRole("button", { name: "Resume" }).isDisabled(), true);
  for (const path of ["/sessions/claude-code:held", "/incidents", "/settings"]) {
    await page.goto(path);
    await shows(page.locator("h1"));
    const enabled = page.locator("form[data-post] :is(button:not([data-copy]), input:not([type=hidden]), select, textarea):not(:disabled)");
    assert.deepEqual(await enabled.allTextContents(), [], path);
  }
});

test("the link of `belay open` logs in once, and its cookie is not readable by scripts", async (t) => {
  const profile = await Profile.open(t, world);
  const link = await world.loginLink();
  const page = await profile.tab(link);
  assert.equal(new URL(page.url()).pathname, "/", "the code does not stay in the address");
  assert.equal(await need(page, agent).getByRole("button", { name: "Resume" }).isEnabled(), true);
  const cookies = await profile.context.cookies();
  assert.ok(cookies.some((cookie) => cookie.httpOnly && cookie.sameSite === "Strict"));
  assert.doesNotMatch(await page.evaluate(() => document.cookie), /belay_(login|session)/);

  const stranger = await Profile.open(t, world);
  stranger.tolerated.push(/status of 40\d/);
  const late = await stranger.context.newPage();
  const response = await late.goto(link);
  assert.ok(response && response.status() >= 400, "a used link is refused");
  await late.goto("/");
  assert.equal(await need(late, agent).getByRole("button", { name: "Resume" }).isDisabled(), true);
});

test("a decision without the form's token is refused and changes nothing", async (t) => {
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/status of 403/);
  const page = await profile.logIn();
  const row = need(page, agent);
  await row.getByRole("button", { name: "Resume" }).click();
  const dialog = page.locator("#ask-resume");
  await dialog.locator("input[name=form_token]").evaluate((input) => input.setAttribute("value", "forged"));
  await dialog.getByRole("button", { name: "Resume" }).click();
  await shows(dialog.locator("output.answer[data-state=bad]"));
  assert.equal((await agent.ask("make")).stopped, true);
});

test("logging out all browsers takes the right to decide away", async (t) => {
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/status of 40[13]/);
  const page = await profile.logIn();
  const said = await world.run(["open", "--logout-all"]);
  assert.equal(said.code, 0, said.err);
  await need(page, agent).getByRole("button", { name: "Resume" }).click();
  const dialog = page.locator("#ask-resume");
  await dialog.getByRole("button", { name: "Resume" }).click();
  await shows(dialog.locator("output.answer[data-state=bad]").filter({ hasText: "belay open" }));
  assert.equal((await agent.ask("make")).stopped, true);
});
