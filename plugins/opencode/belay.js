// Belay's plugin for opencode. It tells `belay hook` what happens and does what that answers:
// `deny` keeps one tool call from running, `stop` keeps the model from being asked, `context` is
// something the model should read. Whatever goes wrong here, opencode goes on.
//
// Installed by `belay init`; `belay uninit` removes it.

import { spawn } from "node:child_process";

const BELAY = "belay" /* BELAY */;

// Far longer than an answer takes; after that opencode goes on without one.
const PATIENCE_MS = 5000;

// Requests opencode makes for itself; no turns of the conversation.
const AUXILIARY = new Set(["title", "summary", "compaction"]);

function ask(event, payload) {
  return new Promise((resolve) => {
    const goOn = () => resolve({});
    try {
      const child = spawn(BELAY, ["hook", "opencode", event], { stdio: ["pipe", "pipe", "ignore"] });
      const timer = setTimeout(() => {
        child.kill();
        goOn();
      }, PATIENCE_MS);
      const said = [];
      child.on("error", goOn);
      child.stdin.on("error", () => {});
      child.stdout.on("data", (piece) => said.push(piece));
      child.on("close", () => {
        clearTimeout(timer);
        try {
          resolve(said.length ? JSON.parse(Buffer.concat(said).toString()) : {});
        } catch {
          goOn();
        }
      });
      child.stdin.end(JSON.stringify(payload));
    } catch {
      goOn();
    }
  });
}

// Remembers the last few things it was given.
class Recent {
  constructor(kept) {
    this.kept = kept;
    this.known = new Map();
  }
  has(key) {
    return this.known.has(key);
  }
  get(key) {
    return this.known.get(key);
  }
  set(key, value = true) {
    this.known.delete(key);
    this.known.set(key, value);
    if (this.known.size > this.kept) this.known.delete(this.known.keys().next().value);
  }
  // Whether it is new.
  first(key) {
    const first = !this.has(key);
    if (first) this.set(key);
    return first;
  }
}

export const Belay = async ({ directory }) => {
  const parents = new Recent(256);
  const reminders = new Recent(256);
  const denied = new Recent(256);
  const told = new Recent(1024);

  const tell = async (event, sessionID, more) => {
    if (!sessionID) return {};
    const answer = await ask(event, { sessionID, parentID: parents.get(sessionID), cwd: directory, ...more });
    if (answer.context && (event === "session.created" || event === "chat.message")) {
      reminders.set(sessionID, [...(reminders.get(sessionID) ?? []), answer.context]);
    }
    return answer;
  };

  const happened = async (type, p) => {
    switch (type) {
      case "session.created":
        if (p.info?.parentID) parents.set(p.info.id, p.info.parentID);
        return tell(type, p.info?.id, { info: { version: p.info?.version } });
      case "session.deleted":
        return tell(type, p.info?.id ?? p.sessionID);
      case "session.idle":
      case "session.compacted":
        return tell(type, p.sessionID);
      case "session.error":
        return tell(type, p.sessionID, { error: p.error });
      case "permission.asked":
      case "permission.updated":
        return tell("permission.asked", p.sessionID, {
          callID: p.tool?.callID ?? p.callID,
          permission: [p.permission ?? p.type, ...(p.patterns ?? [])].join(" "),
        });
      case "message.updated": {
        const info = p.info ?? {};
        const done = info.role === "assistant" && info.time?.completed && info.tokens;
        if (!done || info.summary || !told.first(info.id)) return;
        const { id, tokens, modelID, time, finish } = info;
        return tell(type, info.sessionID ?? p.sessionID, { info: { id, tokens, modelID, time, finish } });
      }
      case "message.part.updated": {
        const { part } = p;
        if (part?.type !== "tool" || part.state?.status !== "error" || !told.first(part.callID)) return;
        return tell("tool.failed", part.sessionID, {
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
      await happened(event.type, event.properties ?? {});
    },
    "chat.message": async ({ sessionID, messageID }, { parts }) => {
      const texts = parts.filter((part) => part.type === "text").map(({ type, text }) => ({ type, text }));
      await tell("chat.message", sessionID, { messageID, parts: texts });
    },
    "chat.params": async ({ sessionID, agent, model }) => {
      if (AUXILIARY.has(agent)) return;
      const { stop } = await tell("chat.params", sessionID, { model: model?.id });
      if (stop) throw new Error(stop);
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      system.push(...(reminders.get(sessionID) ?? []));
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      const { deny } = await tell("tool.execute.before", sessionID, { tool, callID, args });
      if (!deny) return;
      denied.set(callID);
      throw new Error(deny);
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      const { metadata = {}, output } = result;
      const { context } = await tell("tool.execute.after", sessionID, {
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
