// One stream per browser: the tab that holds the lock listens and tells the others.
// @ts-check
import { one } from "./dom.js";
import { atOnce, refresh } from "./refresh.js";
import { clock, freeze } from "./times.js";

/**
 * @typedef {"live" | "reconnecting" | "behind" | "stopped"} State
 * @typedef {{ kind: "state", state: State, since: string, position: number }} StateMessage
 * @typedef {{ kind: "change", session: string, about: string, position: number }} ChangeMessage
 * @typedef {{ kind: "refresh" } | { kind: "hello" }} PlainMessage
 * @typedef {StateMessage | ChangeMessage | PlainMessage} Message
 */

/** Milliseconds until a refused stream is tried again. */
const RETRY = 5000;

const channel = new BroadcastChannel("belay-live");
const { session, kind, reviews } = one("#main")?.dataset ?? {};
const start = Number(document.body.dataset.position ?? 0);

/** @type {StateMessage | null} */
let leading = null;

/**
 * Whether a change concerns what this page shows. Tasks of reviews are only on the pages that say so.
 * @param {ChangeMessage} change
 */
function concerns(change) {
  if (session) return session === change.session;
  return kind ? kind === change.about : reviews !== undefined || change.about !== "review";
}

/** @param {Message} message */
function receive(message) {
  if (message.kind === "state") {
    const was = one("#live")?.dataset.state;
    show(message);
    // After an interruption, or if this page is older than the stream, something may have been missed.
    if (message.state === "live" && ((was && was !== "live") || message.position > start)) refresh();
  } else if (message.kind === "change") {
    // Anything else only changes the counts.
    refresh(concerns(message) ? atOnce : ["pages"]);
  } else if (message.kind === "refresh") {
    refresh();
  } else if (leading) {
    channel.postMessage(leading);
  }
}

/** @param {Message} message */
function tell(message) {
  channel.postMessage(message);
  receive(message);
}

/** @param {StateMessage} message */
function show({ state, since }) {
  const element = one("#live");
  if (!element) return;
  const texts = { live: "Live", reconnecting: `Reconnecting since ${since}`, behind: "Behind: reload", stopped: `Stopped at ${since}` };
  if (element.textContent !== texts[state]) element.textContent = texts[state];
  element.dataset.state = state;
  element.classList.toggle("off", state !== "live");
  freeze(state !== "live");
}

/**
 * Listens until the page is closed.
 * @returns {Promise<never>}
 */
function lead() {
  let position = start;
  /** @param {State} state */
  const enter = (state) => {
    if (leading?.state === state) return;
    leading = { kind: "state", state, since: clock(), position };
    tell(leading);
  };
  const connect = () => {
    const stream = new EventSource(`/api/v1/live?after=${position}`);
    /** @param {Event} event */
    const note = (event) => {
      if (event instanceof MessageEvent) position = Number(event.lastEventId) || position;
      if (leading) leading.position = position;
    };
    stream.addEventListener("ready", (event) => (note(event), enter("live")));
    stream.addEventListener("stopped", (event) => (note(event), enter("stopped")));
    stream.addEventListener("reload", (event) => (note(event), enter("behind"), tell({ kind: "refresh" })));
    stream.addEventListener("change", (event) => {
      note(event);
      const { session, kind } = JSON.parse(event.data);
      tell({ kind: "change", session, about: kind, position });
    });
    stream.addEventListener("error", () => {
      if (leading?.state !== "stopped" && leading?.state !== "behind") enter("reconnecting");
      // The browser reconnects by itself, but not after an error of the server.
      if (stream.readyState === EventSource.CLOSED) setTimeout(connect, RETRY);
    });
    addEventListener("pagehide", () => stream.close(), { once: true });
  };
  connect();
  return new Promise(() => {});
}

const status = one("#live");
if (status) status.textContent = "Connecting";
channel.addEventListener("message", (event) => receive(event.data));
channel.postMessage({ kind: "hello" });
if (navigator.locks) navigator.locks.request("belay-live", lead);
else lead();
addEventListener("pageshow", (event) => event.persisted && location.reload());
