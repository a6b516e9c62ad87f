import { dataOrNull, helperClass, memberOf, nothing } from "../items/helper-methods.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { EventTopic } from "./event-types.ts";

interface EventMethods {
  /**
   * Publishes an event. Resolves when the engine has accepted the event, to the number of triggers that get it. Does
   * not wait for handlers.
   */
  emit(topic: string, data?: unknown, options?: HelperOptions): Promise<number>;
  /** Publishes an event through the function `publish`, which published clients use. It has no result. */
  publish(topic: string, data?: unknown, options?: HelperOptions): Promise<void>;
  /**
   * Lists two kinds of entries, sorted by name: topics that had an event since the engine started, and topics and
   * patterns with a subscriber.
   */
  list(options?: HelperOptions): Promise<readonly EventTopic[]>;
}

/**
 * Events by topic, for the triggers that are subscribed now (module `svc-event`). Events are not stored. A topic has 1
 * to 256 bytes. All methods reject with CallError, like `worker.call`.
 */
export class WorkerEvent extends /* @__PURE__ */ helperClass<EventMethods>("event", {
  emit: ["event::emit", ["event", "data"], /* @__PURE__ */ memberOf("delivered_to"), undefined, dataOrNull],
  publish: ["publish", ["topic", "data"], nothing, undefined, dataOrNull],
  list: ["event::list", [], /* @__PURE__ */ memberOf("topics")],
}) {}
