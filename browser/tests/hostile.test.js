// Text from agents, models and files stays text.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, answer, button, live, need, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

const ATTACKS = [
  `<script>window.attacked = 1</script>`,
  `"><img src=x onerror="window.attacked = 1">`,
  `'); window.attacked = 1; //`,
  `</textarea></title></style><svg onload="window.attacked = 1">`,
  `javascript:window.attacked=1`,
  `\u001b[31mred\u001b[0m \u001b]0;title\u0007`,
  `\u202egnp.exe\u2066\u200b\ufeff`,
  `&lt;b&gt;{{constructor.constructor('window.attacked=1')()}}\${window.attacked=1}`,
  `${"W".repeat(10_000)}`,
];

/**
 * Events of a tool that Belay does not know, with a text in every field that takes one.
 * @param {string} id
 * @param {string} text
 */
function everyField(id, text) {
  const bodies = [
    { kind: "session_started", agent_version: text, branch: text, model: text, project: `/tmp/${text}`, task: text },
    { kind: "prompt", by: "person", text },
    { kind: "tool_called", call: "1", tool: text, input: { command: text, [text]: text } },
    { kind: "tool_returned", call: "1", status: "error", output: text },
    { kind: "file_changed", path: text },
    { kind: "check_ran", check: "test", command: text, failing: [text], ok: false, failed: 1 },
    { kind: "committed", sha: text },
    { kind: "model_answered", model: text, request: text, response: text, stop: text, text, usage: { input: 9, output: 9 } },
    { kind: "model_failed", message: text },
    { kind: "limit_hit", what: text },
    { kind: "note", text },
    { kind: "compacted", automatic: true },
    { kind: "sub_agent_started", child: { agent: "other", id: `${id}-child` }, role: text },
    { kind: "waiting", what: text },
    { kind: "wait_ended" },
    { kind: "permission_asked", what: text },
    { kind: "turn_ended", text },
  ];
  const session = { agent: "other", id };
  return bodies.map((body, index) => ({ v: 1, at: new Date().toISOString(), session, cwd: `/tmp/${text}`, id: `${id}-${index}`, ...body }));
}

/** @type {World} */
let world;
/** @type {string[]} */
const sessions = [];

before(async () => {
  world = await World.start();
  for (const [index, text] of ATTACKS.entries()) {
    const agent = await Agent.start(world, `hostile-${index}`, { prompt: text });
    await agent.hook("SessionStart", { source: "startup", model: text });
    await agent.ask(text);
    await agent.result(text, text);
    await agent.loop(text);
    await world.run(["resume", agent.key, "-m", text]);
    await world.run(["pause", `other:hostile-${index}`, "-m", text]);
    await agent.hook("PermissionRequest", { tool_name: text, tool_input: { command: text, file_path: text } });
    sessions.push(agent.key);
    sessions.push(`other:hostile-${index}`);
    await world.post(everyField(`hostile-${index}`, text));
  }
});
after(() => world.stop());

/**
 * Nothing was executed, nothing is hidden, nothing is wider than the window.
 * @param {import("playwright-core").Page} page
 * @param {string} what
 */
async function isHarmless(page, what) {
  const found = await page.evaluate(() => {
    const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/;
    return {
      attacked: "attacked" in window,
      elements: document.querySelectorAll("main img, main script, [onerror], [onload], a[href^='javascript:']").length,
      controls: controls.test(document.body.innerText) || controls.test(document.title),
      wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    };
  });
  assert.deepEqual(found, { attacked: false, elements: 0, controls: false, wide: false }, what);
}

test("hostile text is shown as text on every page", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  for (const session of sessions) await shows(need(page, session));
  for (const width of [1440, 1024, 768, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const path of ["/", "/incidents", "/incidents?state=closed", "/spend", "/history", "/settings"]) {
      await page.goto(path);
      await live(page);
      await isHarmless(page, `${path} at ${width} px`);
    }
  }
  for (const session of sessions) {
    await page.goto(`/sessions/${encodeURIComponent(session)}`);
    await live(page);
    await isHarmless(page, session);
  }
});

test("hostile text that a person types stays text, on the page and in the answer", async (t) => {
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/status of 4\d\d/);
  const page = await profile.logIn();
  const agent = await Agent.start(world, "typed-hostile");
  await agent.call("ls");
  for (const text of ATTACKS.slice(0, 8)) {
    await page.goto(`/sessions/${agent.key}`);
    await live(page);
    await page.getByLabel("Search all events").fill(text);
    await page.waitForURL(/q=/);
    await shows(page.locator("#events").getByText(/match|found/).first());
    const form = page.locator("#finding form.decide");
    await form.locator("textarea").fill(text);
    const held = (await world.session(agent.key)).held !== undefined;
    await button(form, held ? "Resume" : "Pause").click();
    await eventually("decided", async () => ((await world.session(agent.key)).held !== undefined) !== held);
    await isHarmless(page, `note ${text}`);

    await page.goto("/history");
    const attempt = page.locator('form[action="/history/try"]');
    await attempt.getByLabel("with the value").fill(text);
    await button(attempt, "Try it").click();
    await answer(attempt, "bad");
    await isHarmless(page, `value ${text}`);
  }
});

test("hostile text in live updates and addresses is text, too", async (t) => {
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/status of 40[04]/);
  const page = await profile.tab();
  await live(page);
  const agent = await Agent.start(world, "hostile-live", { prompt: ATTACKS[1] ?? "" });
  await agent.loop(ATTACKS[1]);
  await shows(need(page, agent));
  await isHarmless(page, "live");
  for (const text of ATTACKS.slice(0, 8)) {
    const encoded = encodeURIComponent(text);
    for (const path of [`/sessions/${encoded}`, `/incidents?incident=${encoded}&state=${encoded}`, `/history?key=${encoded}`, `/?fragment=${encoded}`]) {
      await page.goto(path);
      assert.equal(await page.evaluate(() => "attacked" in window), false, path);
    }
  }
});
