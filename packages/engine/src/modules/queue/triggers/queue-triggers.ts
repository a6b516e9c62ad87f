import { CallError } from "@svc-runtime/protocol";
import type { ModuleContext, TriggerBinding } from "../../../kernel/module.ts";
import type { Undo } from "../../../kernel/scope.ts";
import type { QueueCore } from "../queue-core.ts";
import { queueOfSubscription } from "../topics/queue-name.ts";
import { type Topics, takenSubscription } from "../topics/topics.ts";
import { BoundFunctions } from "./bound-functions.ts";
import {
  type QueueTriggerSettings,
  queueTriggerSettings,
  type SubscriberTriggerSettings,
  subscriberTriggerSettings,
} from "./settings.ts";

/** A caller that may call this function may read all jobs. So it may also subscribe to topics. */
const SHOWS_JOBS = "queue::peek";
/**
 * A caller that may call this function may remove all jobs from a queue. Only such a caller may bind a trigger on a
 * queue, because jobs that one trigger gets are lost for the other triggers.
 */
const REMOVES_JOBS = "queue::purge";

/** A caller that may call one of these may subscribe to topics. */
const TOPIC_FUNCTIONS = ["svc::durable::publish", SHOWS_JOBS];

/** The trigger types `queue` and `durable:subscriber`. */
export class QueueTriggers {
  readonly #context: Pick<ModuleContext<unknown>, "directory" | "provideTrigger" | "rememberFunction">;
  readonly #core: QueueCore;
  readonly #topics: Topics;
  readonly #byQueue = new Map<string, BoundFunctions>();
  readonly #bySubscription = new Map<string, Map<string, BoundFunctions>>();
  /** Functions that wake a trigger's queue, by trigger id. */
  readonly #wakers = new Map<string, () => void>();
  #unlisten: Undo = () => {};

  constructor(parts: {
    readonly context: Pick<ModuleContext<unknown>, "directory" | "provideTrigger" | "rememberFunction">;
    readonly core: QueueCore;
    readonly topics: Topics;
  }) {
    this.#context = parts.context;
    this.#core = parts.core;
    this.#topics = parts.topics;
  }

  start(): void {
    const { directory, provideTrigger } = this.#context;
    this.#unlisten = directory.onChange(({ kind, id }) => {
      if (kind === "trigger") this.#wakers.get(id)?.();
    });
    provideTrigger({
      type: "queue",
      summary: "Runs jobs of a queue that name no function",
      settings: queueTriggerSettings,
      bind: (binding) => this.#bindQueue(binding),
    });
    provideTrigger({
      type: "durable:subscriber",
      summary: "Gets every message published to a topic, including messages published while no worker was connected",
      settings: subscriberTriggerSettings,
      bind: (binding) => this.#bindSubscriber(binding),
    });
  }

  stop(): void {
    this.#unlisten();
  }

  /** Returns how many triggers run the queue's jobs that name no function. */
  countOf(queue: string): number {
    return this.#byQueue.get(queue)?.size ?? 0;
  }

  /** Call after a change of the declared queues. */
  queuesChanged(): void {
    for (const [queue, functions] of this.#byQueue) {
      const isThere = this.#core.settingsOf(queue) !== undefined;
      if (isThere) this.#core.serve(queue, functions);
      functions.report(isThere ? undefined : `Queue '${queue}' not found`);
    }
  }

  #bindQueue(binding: TriggerBinding<QueueTriggerSettings>): Undo {
    const { queue } = binding.settings;
    const refusal = binding.callRefusal(REMOVES_JOBS);
    if (refusal !== undefined) {
      throw new CallError(
        "FORBIDDEN",
        `a trigger on a queue removes jobs from it, as ${REMOVES_JOBS} does, which this connection may not call: ${refusal.message}`,
      );
    }
    if (this.#core.settingsOf(queue) === undefined) {
      throw new CallError(
        "queue_not_found",
        `Queue '${queue}' not found; declare it under queue_configs of svc-queue`,
        { details: { queue } },
      );
    }
    const functions = this.#byQueue.get(queue) ?? new BoundFunctions(this.#context.directory);
    this.#byQueue.set(queue, functions);
    const remove = functions.add(binding);
    const unserve = this.#core.serve(queue, functions);
    this.#wakeOnChange(binding, queue);
    return () => {
      this.#wakers.delete(binding.id);
      remove();
      if (functions.size > 0) return;
      unserve();
      this.#byQueue.delete(queue);
    };
  }

  #bindSubscriber(binding: TriggerBinding<SubscriberTriggerSettings>): Undo {
    const { settings, functionId } = binding;
    const { topic, config } = settings;
    const refusals = TOPIC_FUNCTIONS.map((id) => binding.callRefusal(id)).filter((refusal) => refusal !== undefined);
    if (refusals.length === TOPIC_FUNCTIONS.length) {
      throw new CallError(
        "FORBIDDEN",
        `subscribing requires the right to call ${TOPIC_FUNCTIONS.join(" or ")}: ${refusals[0]?.message}`,
      );
    }
    const ofTopic = this.#bySubscription.get(topic) ?? new Map<string, BoundFunctions>();
    const functions =
      ofTopic.get(functionId) ??
      new BoundFunctions(this.#context.directory, takenSubscription(topic, functionId, "a trusted worker"));
    const remove = functions.add(binding);
    let unserve: Undo;
    try {
      unserve = this.#topics.subscribe(topic, functionId, config, functions, binding.principal);
    } catch (error) {
      remove();
      throw error;
    }
    this.#bySubscription.set(topic, ofTopic.set(functionId, functions));
    // The subscription goes on after its trigger has ended, so its function must be remembered.
    if (binding.principal.isTrusted) this.#context.rememberFunction(functionId);
    const queue = queueOfSubscription(topic, functionId);
    this.#wakeOnChange(binding, queue);
    const stopListening = binding.onPrincipalChange(() => {
      functions.principalChanged(binding);
      if (!binding.principal.isTrusted) return;
      this.#topics.takeOver(topic, functionId);
      this.#context.rememberFunction(functionId);
    });
    return () => {
      stopListening();
      this.#wakers.delete(binding.id);
      remove();
      if (functions.size > 0) {
        // If the removed trigger was the last one of a trusted worker, restricted triggers get jobs from now on.
        this.#core.wake(queue);
        return;
      }
      unserve();
      ofTopic.delete(functionId);
      if (ofTopic.size === 0) this.#bySubscription.delete(topic);
      if (binding.ended === "withdrawn") this.#topics.unsubscribe(topic, functionId, binding.principal);
    };
  }

  #wakeOnChange({ id }: { readonly id: string }, queue: string): void {
    this.#wakers.set(id, () => this.#core.wake(queue));
  }
}
