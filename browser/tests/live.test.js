// Pages follow what happens, without reloading and without disturbing who reads or types.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, button, live, need, shows, working } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
  // Not the landing page, which is replaced by the overview.
  await Agent.start(world, "first");
});
after(() => world.stop());

/** Changes that a client that reconnects is told one by one; after more, it is told to reload. */
const REPLAYED = 1000;

test("a change is on the screen without a reload", async (t) => {
  const page = await (await Profile.open(t, world)).tab();
  await live(page);
  await page.evaluate(() => Object.assign(window, { same: true }));
  const agent = await Agent.start(world, "appears");
  await agent.call("cargo build");
  await working(page, agent).waitFor();
  await agent.ask("cargo test --workspace");
  await working(page, agent).getByText("cargo test --workspace").waitFor();
  await agent.loop("make check");
  await need(page, agent).getByText("make check").waitFor();
  assert.equal((await world.run(["resume", agent.key])).code, 0);
  await need(page, agent).waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => "same" in window), true, "the page was not reloaded");
});

test("the page of a session follows its calls", async (t) => {
  const agent = await Agent.start(world, "calls");
  await agent.call("ls");
  const page = await (await Profile.open(t, world)).tab(`/sessions/${agent.key}`);
  await live(page);
  await agent.call("cat README.md");
  await page.locator("#events").getByText("cat README.md").first().waitFor();
});

test("the landing page becomes the overview with the first session", async (t) => {
  const empty = await World.start();
  const profile = await Profile.open(t, empty);
  t.after(() => empty.stop());
  const page = await profile.tab();
  await shows(page.locator("#landing"));
  await live(page);
  const agent = await Agent.start(empty, "very-first");
  await shows(working(page, agent));
});

test("focus, scroll position, typed text and open details survive changes", async (t) => {
  const agent = await Agent.start(world, "typing");
  for (let count = 0; count < 40; count++) await agent.ask(`echo ${count}`);
  await agent.loop();
  const page = await (await Profile.open(t, world, { viewport: { width: 1440, height: 500 } })).logIn();
  await page.goto(`/sessions/${agent.key}`);
  await live(page);
  const note = page.locator("#finding form.decide textarea");
  await note.fill("Half a sent");
  await note.evaluate((field) => field instanceof HTMLTextAreaElement && field.setSelectionRange(4, 4));
  const before = await page.evaluate(() => window.scrollY);
  await agent.ask("a new call while someone types");
  await page.locator("#events").getByText("a new call while someone types").first().waitFor({ state: "attached" });
  const state = await note.evaluate((field) => [
    field === document.activeElement,
    field instanceof HTMLTextAreaElement ? [field.value, field.selectionStart] : null,
    window.scrollY,
  ]);
  assert.deepEqual(state, [true, ["Half a sent", 4], before]);

  // What is read stays where it is while new events are added above.
  const read = page.locator("#events tbody tr").nth(20);
  const row = page.locator(`#${await read.getAttribute("id")}`);
  await row.evaluate((element) => element.scrollIntoView({ block: "center" }));
  const top = await row.evaluate((element) => element.getBoundingClientRect().top);
  await agent.ask("another call");
  await page.locator("#events").getByText("another call").first().waitFor({ state: "attached" });
  const moved = await row.evaluate((element, top) => Math.abs(element.getBoundingClientRect().top - top), top);
  assert.ok(moved < 2, `the row moved by ${moved} px`);
});

test("the page says when the server is away, reconnects by itself, and catches up", async (t) => {
  const own = await World.start();
  t.after(() => own.stop());
  const agent = await Agent.start(own, "restart");
  const profile = await Profile.open(t, own);
  profile.tolerated.push(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
  const page = await profile.tab();
  await live(page);
  await own.halt();
  await shows(page.locator("#live").getByText(/^(Stopped at|Reconnecting since) \d\d:\d\d$/));
  await own.serve();
  await live(page);

  await own.halt("SIGKILL");
  await shows(page.locator("#live").getByText(/^Reconnecting since \d\d:\d\d$/));
  // What happens meanwhile is decided and stored by the hook itself.
  await agent.loop();
  await own.serve();
  await live(page);
  await shows(need(page, agent).getByText("same call was made"));
});

test("a page that fell behind says so, and catches up", async (t) => {
  const own = await World.start();
  t.after(() => own.stop());
  const agent = await Agent.start(own, "behind");
  const profile = await Profile.open(t, own);
  profile.tolerated.push(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
  const page = await profile.tab();
  await live(page);
  // Every state that the page goes through.
  await page.evaluate(() => {
    const element = document.querySelector("#live");
    const seen = new Set([element?.textContent ?? ""]);
    Object.assign(window, { seen });
    if (element) new MutationObserver(() => seen.add(element.textContent ?? "")).observe(element, { childList: true, characterData: true, subtree: true });
  });
  await own.halt("SIGKILL");
  const session = { agent: "other", id: "noise" };
  await own.post(Array.from({ length: REPLAYED + 100 }, (_, n) => ({ v: 1, at: new Date().toISOString(), session, id: `n${n}`, kind: "note", text: `noise ${n}` })));
  await agent.loop();
  await own.serve();
  await eventually("behind", () => page.evaluate(() => /** @type {{ seen?: Set<string> }} */ (window).seen?.has("Behind: reload") ?? false));
  await shows(need(page, agent).getByText("same call was made"));
  await live(page);
});

test("new calls are counted while an older part of the picture is read", async (t) => {
  const agent = await Agent.start(world, "scrolled");
  for (let count = 0; count < 60; count++) await agent.call(`echo ${count}`);
  const page = await (await Profile.open(t, world, { viewport: { width: 768, height: 900 } })).tab(`/sessions/${agent.key}`);
  await live(page);
  const picture = page.locator("#shape [data-calls]");
  await picture.evaluate((element) => (element.scrollLeft = -300));
  const scrolled = await picture.evaluate((element) => element.scrollLeft);
  assert.ok(scrolled < -40, "the picture is wider than the window");
  await agent.call("echo new 1");
  const button = page.locator("#shape [data-show-new]");
  await shows(button.getByText(/^1 new call$/));
  await agent.call("echo new 2");
  await shows(page.locator("#shape [data-show-new]", { hasText: /^2 new calls$/ }));
  assert.equal(await picture.evaluate((element) => element.scrollLeft), scrolled, "the picture has not moved");
  await button.click();
  await button.waitFor({ state: "hidden" });
  await shows(page.locator("#call").getByText("echo new 2"));
});

test("a form that cannot be sent says so, and changes nothing", async (t) => {
  const own = await World.start();
  t.after(() => own.stop());
  const agent = await Agent.start(own, "away");
  await agent.loop();
  const profile = await Profile.open(t, own);
  profile.tolerated.push(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
  const page = await profile.logIn();
  await button(need(page, agent), "Resume").click();
  await own.halt("SIGKILL");
  const dialog = page.locator("#ask-resume");
  await button(dialog, "Resume").click();
  await shows(dialog.getByText("the server does not answer"));
  assert.equal((await agent.ask("ls")).stopped, true);
});

/** Established connections to the server, as the system counts them. */
async function connections() {
  const port = world.port.toString(16).toUpperCase().padStart(4, "0");
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n");
  return lines.filter((line) => new RegExp(`^ *\\d+: [0-9A-F]+:${port} [0-9A-F:]+ 01 `).test(line)).length;
}

test("eight tabs share one stream, and another one takes over", async (t) => {
  const profile = await Profile.open(t, world);
  const tabs = [await profile.tab()];
  for (let count = 1; count < 8; count++) tabs.push(await profile.tab(count % 2 ? "/incidents" : "/"));
  for (const tab of tabs) await live(tab);
  await eventually("one connection", async () => (await connections()) === 1);
  await tabs[0]?.close();
  await eventually("another stream", async () => (await connections()) === 1);
  const agent = await Agent.start(world, "tabs");
  await agent.loop();
  for (const tab of tabs.slice(1)) {
    // A hidden tab is refreshed when it is looked at.
    await tab.bringToFront();
    await shows(tab.locator("#needs li, #inbox li").filter({ hasText: "tabs" }));
  }
});
