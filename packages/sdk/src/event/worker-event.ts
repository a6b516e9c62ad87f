import { type HelperCalls, HelperMethods } from "../items/helper-methods.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { EventTopic } from "./event-types.ts";

const METHODS = /* @__PURE__ */ new HelperMethods("event", {});

/**
 * Events by topic, for the present subscribers (module `svc-event`). Nothing is stored. A topic has 1 to 256 bytes. All
 * methods reject with CallError, as `worker.call` does.
 */
export class WorkerEvent {
  readonly #calls: HelperCalls;

  /** Internal: available as a member of a worker and of a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  /**
   * Publishes an event. Resolves to the number of triggers that receive it, when the engine has accepted it. Does not
   * wait for handlers.
   */
  async emit(topic: string, data: unknown = null, options?: HelperOptions): Promise<number> {
    const { delivered_to } = await METHODS.call<{ readonly delivered_to: number }>(
      this.#calls,
      "emit",
      { event: topic, data },
      options,
    );
    return delivered_to;
  }

  /** Publishes an event with the function that published clients use, without a result. */
  async publish(topic: string, data: unknown = null, options?: HelperOptions): Promise<void> {
    await METHODS.call(this.#calls, "publish", { topic, data }, options, "publish");
  }

  /** Lists the topics with an event since the engine started and the subscribed topics and patterns, sorted by name. */
  async list(options?: HelperOptions): Promise<readonly EventTopic[]> {
    const { topics } = await METHODS.result<{ readonly topics: readonly EventTopic[] }>(
      this.#calls,
      "list",
      {},
      options,
      { topics: {} },
    );
    return topics;
  }
}
