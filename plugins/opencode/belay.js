// Belay's plugin for opencode. It sends events to `belay hook` and applies the response: `deny` blocks one
// tool call, `stop` blocks the model request, `context` is text for the model, `permission` answers a
// permission prompt. If anything fails here, opencode continues.
//
// Installed by `belay init`; `belay uninit` removes it.

import { spawn } from "node:child_process";

const [BELAY, ...OPTIONS] = ["belay"] /* BELAY */;

// Much longer than a response takes. After that, opencode continues without one.
const TIMEOUT_MS = 5000;

// How much of the end of a message is sent.
const MAX_TEXT = 4000;

// A person may answer a permission prompt in Belay. opencode's terminal asks meanwhile; the first answer wins.
const PERMISSION_TIMEOUT_MS = 600_000;

// Requests that opencode makes for its own use. They are not turns of the conversation.
const AUXILIARY = new Set(["title", "summary", "compaction"]);

function ask(event, payload, { timeout = TIMEOUT_MS, onStart } = {}) {
  return new Promise((resolve) => {
    let timer;
    const proceed = () => {
      clearTimeout(timer);
      resolve({});
    };
    try {
      const child = spawn(BELAY, ["hook", "opencode", event, ...OPTIONS], { stdio: ["pipe", "pipe", "ignore"] });
      onStart?.(child);
      timer = setTimeout(() => {
        child.kill();
        proceed();
      }, timeout);
      const chunks = [];
      child.on("error", proceed);
      child.stdin.on("error", () => {});
      child.stdout.on("data", (chunk) => chunks.push(chunk));
      child.on("close", () => {
        clearTimeout(timer);
        try {
          resolve(chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : {});
        } catch {
          proceed();
        }
      });
      child.stdin.end(JSON.stringify(payload));
    } catch {
      proceed();
    }
  });
}

// A map that holds the most recent entries.
class RecentMap {
  constructor(capacity) {
    this.capacity = capacity;
    this.entries = new Map();
  }
  has(key) {
    return this.entries.has(key);
  }
  get(key) {
    return this.entries.get(key);
  }
  set(key, value = true) {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size > this.capacity) this.entries.delete(this.entries.keys().next().value);
  }
  // Adds the key and returns whether it is new.
  add(key) {
    const isNew = !this.has(key);
    if (isNew) this.set(key);
    return isNew;
  }
}

export const Belay = async ({ directory, client }) => {
  const parents = new RecentMap(256);
  const reminders = new RecentMap(256);
  const denied = new RecentMap(256);
  const reported = new RecentMap(1024);
  const assistants = new RecentMap(256);
  const said = new RecentMap(256);
  const calls = new RecentMap(256);
  // The processes that wait for a person's answer, by permission.
  const offers = new RecentMap(64);

  const send = async (event, sessionID, more, options) => {
    if (!sessionID) return {};
    const payload = { sessionID, parentID: parents.get(sessionID), cwd: directory, ...more };
    const answer = await ask(event, payload, options);
    if (answer.context && (event === "session.created" || event === "chat.message")) {
      reminders.set(sessionID, [...(reminders.get(sessionID) ?? []), answer.context]);
    }
    return answer;
  };

  // Reports a permission prompt, and passes a person's answer on.
  const offer = async (p) => {
    const callID = p.tool?.callID ?? p.callID;
    const { permission: reply, message } = await send(
      "permission.asked",
      p.sessionID,
      { callID, permission: [p.permission ?? p.type, ...(p.patterns ?? [])].join(" "), ...calls.get(callID) },
      { timeout: PERMISSION_TIMEOUT_MS, onStart: (child) => offers.set(p.id, child) },
    );
    if (reply !== "once" && reply !== "reject") return;
    await client._client.post({
      url: "/permission/{requestID}/reply",
      path: { requestID: p.id },
      body: { reply, message },
      headers: { "Content-Type": "application/json" },
    });
  };

  const onEvent = async (type, p) => {
    switch (type) {
      case "session.created":
        if (p.info?.parentID) parents.set(p.info.id, p.info.parentID);
        return send(type, p.info?.id, { info: { version: p.info?.version } });
      case "session.deleted":
        return send(type, p.info?.id ?? p.sessionID);
      case "session.idle": {
        const text = said.get(p.sessionID);
        said.set(p.sessionID, "");
        return send(type, p.sessionID, { text });
      }
      case "session.compacted":
        return send(type, p.sessionID);
      case "session.error":
        return send(type, p.sessionID, { error: p.error });
      case "permission.asked":
      case "permission.updated":
        // Not awaited: it may take until a person answers.
        offer(p).catch(() => {});
        return;
      case "permission.replied":
        // Answered, here or elsewhere.
        offers.get(p.requestID ?? p.permissionID)?.kill();
        return send(type, p.sessionID, { reply: p.reply ?? p.response });
      case "message.updated": {
        const info = p.info ?? {};
        if (info.role === "assistant" && !info.summary) assistants.set(info.id);
        const done = info.role === "assistant" && info.time?.completed && info.tokens;
        if (!done || info.summary || !reported.add(info.id)) return;
        const { id, tokens, modelID, time, finish } = info;
        return send(type, info.sessionID ?? p.sessionID, { info: { id, tokens, modelID, time, finish } });
      }
      case "message.part.updated": {
        const { part } = p;
        // The last text of a turn may be a question.
        if (part?.type === "text" && assistants.has(part.messageID)) {
          said.set(part.sessionID, part.text?.slice(-MAX_TEXT));
        }
        if (part?.type !== "tool" || part.state?.status !== "error" || !reported.add(part.callID)) return;
        return send("tool.failed", part.sessionID, {
          tool: part.tool,
          callID: part.callID,
          args: part.state.input,
          error: part.state.error,
          denied: denied.has(part.callID),
        });
      }
    }
  };

  return {
    event: async ({ event }) => {
      await onEvent(event.type, event.properties ?? {});
    },
    "chat.message": async ({ sessionID, messageID }, { parts }) => {
      said.set(sessionID, "");
      const texts = parts.filter((part) => part.type === "text").map(({ type, text }) => ({ type, text }));
      await send("chat.message", sessionID, { messageID, parts: texts });
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await send("session.compacting", sessionID);
    },
    "chat.params": async ({ sessionID, agent, model }) => {
      if (AUXILIARY.has(agent)) return;
      const { stop } = await send("chat.params", sessionID, { model: model?.id });
      if (stop) throw new Error(stop);
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      system.push(...(reminders.get(sessionID) ?? []));
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      calls.set(callID, { tool, args });
      const { deny } = await send("tool.execute.before", sessionID, { tool, callID, args });
      if (!deny) return;
      denied.set(callID);
      throw new Error(deny);
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      const { metadata = {}, output } = result;
      const { context } = await send("tool.execute.after", sessionID, {
        tool,
        callID,
        args,
        output,
        metadata: { exit: metadata.exit, filediff: { before: metadata.filediff?.before } },
      });
      if (context) result.output = `${output}\n\n${context}`;
    },
  };
};
