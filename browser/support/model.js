// The scripted model behind Belay's proxy, and an agent that has no hooks: it only sends requests.
import { spawn } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { newDir } from "./lifetime.js";

const PROGRAM = process.env.BELAY_TEST_MODEL ?? resolve(import.meta.dirname, "../../target/debug/scripted-model");

/** The tool that the scripted model calls. */
const BASH = {
  type: "function",
  function: { name: "bash", parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] } },
};

/** A model that answers by a script. */
export class Model {
  /**
   * @param {string} url
   * @param {() => Promise<void>} stop
   */
  constructor(url, stop) {
    this.url = url;
    this.stop = stop;
  }

  /** @param {string} script TOML, as in `crates/scripted-model`. */
  static async start(script) {
    const dir = newDir("model");
    const file = join(dir, "script.toml");
    await writeFile(file, script);
    const model = spawn(PROGRAM, ["--script", file], { env: { HOME: dir }, stdio: ["ignore", "pipe", "inherit"] });
    /** @type {string} */
    const url = await new Promise((ready, failed) => {
      model.once("error", failed);
      model.once("exit", (code) => failed(new Error(`the scripted model exited with ${code}`)));
      model.stdout.setEncoding("utf8").once("data", (line) => ready(line.trim()));
    });
    return new Model(url, async () => {
      model.kill();
      await rm(dir, { recursive: true });
    });
  }
}

export class ProxyAgent {
  /** @type {object[]} */
  #messages = [{ role: "user", content: "Make the tests pass." }];

  /**
   * @param {import("./world.js").World} world
   * @param {string} key `agent:id`
   */
  constructor(world, key) {
    this.world = world;
    this.key = key;
  }

  /**
   * Sends the conversation; the model's tool calls get `output` as their result.
   * @param {string} [output]
   * @returns {Promise<{ status: number, text: string }>}
   */
  async request(output = "1 failing") {
    const response = await fetch(`${this.world.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer dummy", "x-belay-session": this.key },
      body: JSON.stringify({ model: "gpt-4.1", messages: this.#messages, tools: [BASH] }),
    });
    const text = await response.text();
    if (response.ok) {
      const message = JSON.parse(text).choices[0].message;
      this.#messages.push(message);
      for (const call of message.tool_calls ?? []) this.#messages.push({ role: "tool", tool_call_id: call.id, content: output });
    }
    return { status: response.status, text };
  }
}
