import { CallError, Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import { topicMetadata } from "./functions.ts";
import type { PublishedEvent } from "./subscription.ts";

/** Trigger types of svc-state. A change of state is published under the topic with the name of its trigger type. */
const STATE_TOPICS: ReadonlySet<string> = new Set(["state:created", "state:updated", "state:deleted"]);

/** The function that the triggers of this module call. */
const FUNCTION_ID = "engine::event::state_changed";

export function isStateTopic(topic: string): boolean {
  return STATE_TOPICS.has(topic);
}

/** A trigger on changes of state that this module holds. */
interface StateTrigger {
  /** Undefined until it is bound, and after binding failed. */
  id: string | undefined;
  readonly settled: Promise<void>;
}

/**
 * Publishes changes of state as events. It registers an ordinary trigger for each kind of change, but only while the
 * topic has subscribers, so that other changes cost their writer nothing. The trigger waits until svc-state is loaded,
 * and is bound again after svc-state restarts.
 */
export class StateEvents {
  readonly #context: Pick<ModuleContext<unknown>, "provideFunction" | "unownedTriggers" | "directory" | "log">;
  readonly #hasSubscribers: (topic: string) => boolean;
  readonly #publish: (event: PublishedEvent) => void;
  readonly #held = new Map<string, StateTrigger>();
  #unlisten: Undo = () => {};
  #stopped = false;

  constructor(options: {
    readonly context: Pick<ModuleContext<unknown>, "provideFunction" | "unownedTriggers" | "directory" | "log">;
    readonly hasSubscribers: (topic: string) => boolean;
    readonly publish: (event: PublishedEvent) => void;
  }) {
    this.#context = options.context;
    this.#hasSubscribers = options.hasSubscribers;
    this.#publish = options.publish;
  }

  start(): void {
    const { provideFunction, directory } = this.#context;
    provideFunction({
      id: FUNCTION_ID,
      summary: "Publishes a change of state as an event; only triggers of svc-state call it",
      input: z.looseObject({ event_type: z.string(), scope: z.string(), key: z.string() }),
      // Raw values keep all digits of numbers.
      rawMembers: ["old_value", "new_value"],
      handle: (input, { caller, traceparent, baggage }) => {
        if (caller !== undefined || !isStateTopic(input.event_type))
          throw new CallError("FORBIDDEN", `${FUNCTION_ID} is reserved for the engine`);
        const topic = input.event_type;
        const data = Payload.fromText(jsonOf(input));
        const publisher = JSON.stringify([input.scope, input.key]);
        this.#publish({
          topic,
          data,
          publisher,
          isState: true,
          call: { traceparent, baggage, metadata: topicMetadata(topic) },
        });
        return Payload.null;
      },
    });
    this.#unlisten = directory.onChange(({ kind, id, op }) => {
      if (kind === "trigger" && op === "removed") this.#removed(id);
    });
  }

  /** Call when the subscriptions of a state topic have changed. */
  refresh(): void {
    if (this.#stopped) return;
    for (const topic of STATE_TOPICS) {
      const isWanted = this.#hasSubscribers(topic);
      const held = this.#held.get(topic);
      if (isWanted && held === undefined) this.#bind(topic);
      if (!isWanted && held !== undefined) void this.#release(topic, held);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unlisten();
    await Promise.all([...this.#held].map(([topic, hold]) => this.#release(topic, hold)));
  }

  #bind(topic: string): void {
    const { unownedTriggers, log } = this.#context;
    const bound = unownedTriggers.register(
      { triggerType: topic, functionId: FUNCTION_ID, config: {}, metadata: undefined },
      undefined,
    );
    const hold: StateTrigger = {
      id: undefined,
      settled: bound.then(
        (id) => {
          hold.id = id;
        },
        (error: unknown) => {
          // The next change of subscriptions tries again.
          if (this.#held.get(topic) === hold) this.#held.delete(topic);
          log.warn("changes of state are not published as events", { topic, error });
        },
      ),
    };
    this.#held.set(topic, hold);
  }

  async #release(topic: string, hold: StateTrigger): Promise<void> {
    this.#held.delete(topic);
    await hold.settled;
    if (hold.id !== undefined) this.#context.unownedTriggers.remove(hold.id, undefined);
  }

  /**
   * Called when a trigger was removed, perhaps by an administrator. If it is one of this module and there are
   * subscribers, registers it again.
   */
  #removed(id: string): void {
    const held = [...this.#held].find(([, hold]) => hold.id === id);
    if (held === undefined) return;
    this.#held.delete(held[0]);
    this.refresh();
  }
}

/** Returns the input as JSON, with its raw members unchanged. */
function jsonOf(event: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(event).map(
    ([name, value]) => `${JSON.stringify(name)}:${value instanceof Payload ? value.text() : JSON.stringify(value)}`,
  );
  return `{${members.join(",")}}`;
}
