// A provider whose answers report the quotas of two accounts in their headers, as Anthropic's do.
import { createServer } from "node:http";

/** What each account has used of its limits, and the session that asks. */
const ACCOUNTS = /** @type {const} */ ([
  { session: "claude-code:plan", key: "team", hours: 1, reset: 77 * 60, week: 0.62 },
  { session: "opencode:retries", key: "ci", hours: 0.41, reset: 140 * 60, week: 0.18 },
]);

const ANSWER = {
  id: "msg_quota", type: "message", role: "assistant", model: "claude-sonnet-4-5", stop_reason: "end_turn", stop_sequence: null,
  content: [{ type: "text", text: "Noted." }], usage: { input_tokens: 12, output_tokens: 4 },
};

/** Starts the provider. */
export async function startProvider() {
  const server = createServer((request, response) => {
    const account = ACCOUNTS.find(({ key }) => key === request.headers["x-api-key"]) ?? ACCOUNTS[0];
    const at = (/** @type {number} */ seconds) => String(Math.round(Date.now() / 1000) + seconds);
    const prefix = "anthropic-ratelimit-unified";
    response.writeHead(200, {
      "content-type": "application/json",
      [`${prefix}-5h-utilization`]: String(account.hours),
      [`${prefix}-5h-reset`]: at(account.reset),
      [`${prefix}-7d-utilization`]: String(account.week),
      [`${prefix}-7d-reset`]: at(3 * 86_400),
    });
    request.resume().on("end", () => response.end(JSON.stringify(ANSWER)));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", () => ready(undefined)));
  const address = server.address();
  const url = `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`;
  return { url, settings: [`proxy.upstreams.anthropic.url=${url}`], stop: () => void server.close() };
}

/**
 * Sends a request of each account through the proxy.
 * @param {import("./world.js").World} world
 */
export async function reportQuotas(world) {
  for (const { session, key } of ACCOUNTS) {
    const response = await fetch(`${world.url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": key, "x-belay-session": session },
      body: JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 16, messages: [{ role: "user", content: "Go on." }] }),
    });
    if (!response.ok) throw new Error(`the proxy answered ${response.status}: ${await response.text()}`);
    await response.arrayBuffer();
  }
}
