import { dataOrNull, helperClass, memberOf, nothing } from "../items/helper-methods.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { EventTopic } from "./event-types.ts";

interface EventMethods {
  /**
   * Publishes an event. Resolves to the number of triggers that receive it, when the engine has accepted it. Does not
   * wait for handlers.
   */
  emit(topic: string, data?: unknown, options?: HelperOptions): Promise<number>;
  /** Publishes an event with the function that published clients use, without a result. */
  publish(topic: string, data?: unknown, options?: HelperOptions): Promise<void>;
  /** Lists the topics with an event since the engine started and the subscribed topics and patterns, sorted by name. */
  list(options?: HelperOptions): Promise<readonly EventTopic[]>;
}

/**
 * Events by topic, for the present subscribers (module `svc-event`). Nothing is stored. A topic has 1 to 256 bytes. All
 * methods reject with CallError, as `worker.call` does.
 */
export class WorkerEvent extends /* @__PURE__ */ helperClass<EventMethods>("event", {
  emit: ["event::emit", ["event", "data"], /* @__PURE__ */ memberOf("delivered_to"), undefined, dataOrNull],
  publish: ["publish", ["topic", "data"], nothing, undefined, dataOrNull],
  list: ["event::list", [], /* @__PURE__ */ memberOf("topics")],
}) {}
