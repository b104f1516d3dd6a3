// A session whose events are posted with times of their own: what an agent did in the last hours, within a second.

/** @typedef {import("./world.js").World} World */
/** @typedef {{ input?: number, output?: number, cache_read?: number, cache_write?: number }} Usage */

const SECOND = 1000;

export class Story {
  /** @type {object[]} */
  #events = [];
  #count = 0;

  /**
   * @param {World} world
   * @param {string} key `agent:id`
   * @param {{ task: string, project: string, branch?: string, model?: string, version?: string, ago: number, parent?: string }} about
   *   `ago`: the session began this many seconds ago.
   */
  constructor(world, key, { task, project, branch, model, version, ago, parent }) {
    this.world = world;
    this.key = key;
    this.model = model;
    this.parent = parent && session(parent);
    this.cwd = world.project(project);
    this.now = Date.now() - ago * SECOND;
    /** Tokens of the next answer. */
    this.usage = /** @type {Usage} */ ({ input: 900, output: 1200, cache_read: 60_000, cache_write: 1500 });
    this.add({ kind: "session_started", model, agent_version: version, project: this.cwd, branch, task });
    this.add({ kind: "prompt", by: "person", text: task });
  }

  /**
   * Something that happens now, in the time of the story.
   * @param {object} body
   */
  add(body) {
    const id = `${this.key}-${this.#count++}`;
    this.#events.push({ v: 1, id, at: new Date(this.now).toISOString(), session: session(this.key), parent: this.parent, cwd: this.cwd, source: "hook", ...body });
    return this;
  }

  /** @param {number} seconds */
  wait(seconds) {
    this.now += seconds * SECOND;
    return this;
  }

  /**
   * The model answers with a tool call.
   * @param {string} tool
   * @param {object} input
   */
  begin(tool, input) {
    const call = `${this.key}-call-${this.#count}`;
    this.add({ kind: "model_answered", response: `${call}-answer`, model: this.model, usage: this.usage, tool_calls: 1 });
    this.add({ kind: "tool_called", call, tool, input });
    return call;
  }

  /**
   * A tool call with its result.
   * @param {string} tool
   * @param {object} input
   * @param {string} output
   * @param {{ ok?: boolean, seconds?: number }} [result]
   */
  call(tool, input, output, { ok = true, seconds = 8 } = {}) {
    const call = this.begin(tool, input);
    this.wait(seconds * 0.7);
    this.add({ kind: "tool_returned", call, status: ok ? "ok" : "error", exit_code: tool === "Bash" ? (ok ? 0 : 1) : undefined, output });
    return this.wait(seconds * 0.3);
  }

  /**
   * @param {string} command
   * @param {string} output
   * @param {{ ok?: boolean, seconds?: number }} [result]
   */
  shell(command, output, result) {
    return this.call("Bash", { command }, output, result);
  }

  /**
   * Reads, edits and stages ever new files: work that makes progress.
   * @param {number} calls
   * @param {number} seconds Between two calls.
   */
  work(calls, seconds) {
    for (let at = 0; at < calls; at++) {
      const n = this.#count;
      if (at % 3 === 0) this.call("Read", { file_path: `src/part-${n}.ts` }, `export const part${n} = ${n};`, { seconds });
      else if (at % 3 === 1) this.call("Edit", { file_path: `src/part-${n}.ts`, old_string: `a${n}`, new_string: `b${n}` }, "updated", { seconds });
      else this.shell(`git add src/part-${n}.ts`, `staged part ${n}`, { seconds });
    }
    return this;
  }

  /** Posts what has happened so far. */
  async post() {
    const events = this.#events;
    this.#events = [];
    await this.world.post(events);
    return this;
  }
}

/** @param {string} key */
function session(key) {
  const [agent, ...id] = key.split(":");
  return { agent, id: id.join(":") };
}
