import { ask, type HelperCalls } from "../items/helper-calls.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { EventTopic } from "./event-types.ts";

/**
 * Events by topic, for every function that listens at that moment (module `svc-event`); nothing is stored. A topic has 1 to 256 bytes. All of it
 * rejects with CallError, as `worker.call` does.
 */
export class WorkerEvent {
  readonly #calls: HelperCalls;

  /** Not for users: a worker has one, and so has a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  /** Resolves when the engine has accepted the event, with the number of triggers that took it; not when it was handled. */
  async emit(topic: string, data: unknown = null, options?: HelperOptions): Promise<number> {
    const { delivered_to } = await ask<{ readonly delivered_to: number }>(this.#calls, "event::emit", { event: topic, data }, options);
    return delivered_to;
  }

  /** The same, by the function that published clients know: nothing is answered. */
  async publish(topic: string, data: unknown = null, options?: HelperOptions): Promise<void> {
    await ask(this.#calls, "publish", { topic, data }, options);
  }

  /** Topics that were published to since the engine started, and what is listened to, in the order of their names. */
  async list(options?: HelperOptions): Promise<readonly EventTopic[]> {
    return (await ask<{ readonly topics: readonly EventTopic[] }>(this.#calls, "event::list", {}, options)).topics;
  }
}
