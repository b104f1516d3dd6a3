// A session of Claude Code as Belay sees it: the hooks that the CLI runs, with its payloads.

/** @typedef {import("./world.js").World} World */

/** The reply that ends a loop's patience: what `make` says without a Makefile. */
const FAILURE = "Exit code 2\nmake: *** No rule to make target 'all'.  Stop.";

export class Agent {
  #calls = 0;

  /**
   * @param {World} world
   * @param {string} id
   * @param {string} [project]
   */
  constructor(world, id, project = "shop") {
    this.world = world;
    this.id = id;
    this.key = `claude-code:${id}`;
    this.cwd = world.project(project);
  }

  /**
   * A session with its first prompt.
   * @param {World} world
   * @param {string} id
   * @param {{ prompt?: string, project?: string }} [options]
   */
  static async start(world, id, { prompt = `Fix the build of ${id}`, project } = {}) {
    const agent = new Agent(world, id, project);
    await agent.hook("SessionStart", { source: "startup", model: "claude-sonnet-4-5" });
    await agent.hook("UserPromptSubmit", { prompt });
    return agent;
  }

  /**
   * Runs a hook as the CLI would, and returns its reply.
   * @param {string} event
   * @param {object} fields
   * @returns {Promise<any>}
   */
  async hook(event, fields) {
    const payload = { session_id: this.id, hook_event_name: event, cwd: this.cwd, permission_mode: "default", ...fields };
    const said = await this.world.run(["hook", "claude-code"], JSON.stringify(payload));
    if (said.code !== 0 || said.err) throw new Error(`hook ${event} exited with ${said.code}: ${said.err}`);
    return said.out ? JSON.parse(said.out) : null;
  }

  /**
   * Asks whether a command may run: what the agent does next.
   * @param {string} command
   * @returns {Promise<{ allowed: boolean, stopped: boolean, reason: string, context: string }>}
   */
  async ask(command) {
    const tool = { tool_name: "Bash", tool_input: { command }, tool_use_id: `t${++this.#calls}` };
    const reply = await this.hook("PreToolUse", tool);
    const output = reply?.hookSpecificOutput ?? {};
    return {
      allowed: output.permissionDecision !== "deny" && reply?.continue !== false,
      stopped: reply?.continue === false,
      reason: output.permissionDecisionReason ?? "",
      context: output.additionalContext ?? "",
    };
  }

  /**
   * The result of the newest call.
   * @param {string} command
   * @param {string} [error]
   */
  async result(command, error) {
    const tool = { tool_name: "Bash", tool_input: { command }, tool_use_id: `t${this.#calls}` };
    if (error) return this.hook("PostToolUseFailure", { ...tool, error });
    return this.hook("PostToolUse", { ...tool, tool_response: { stdout: `done: ${command}`, stderr: "", interrupted: false } });
  }

  /**
   * A call that succeeds.
   * @param {string} command
   */
  async call(command) {
    const reply = await this.ask(command);
    await this.result(command);
    return reply;
  }

  /** Repeats a failing command until Belay pauses the session. */
  async loop(command = "make") {
    for (let count = 0; count < 12; count++) {
      const reply = await this.ask(command);
      if (reply.stopped) return reply;
      await this.result(command, FAILURE);
    }
    throw new Error(`${this.key} was not paused`);
  }

  /**
   * Ends the turn.
   * @param {string} text The last message.
   */
  async finish(text) {
    return this.hook("Stop", { stop_hook_active: false, last_assistant_message: text });
  }
}
