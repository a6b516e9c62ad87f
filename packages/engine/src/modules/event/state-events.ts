import { CallError, Payload } from "@svc/protocol";
import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import { topicMetadata } from "./functions.ts";
import type { PublishedEvent } from "./subscription.ts";

/** Trigger types of svc-state, and the topics as which their events are published. */
const STATE_TOPICS: ReadonlySet<string> = new Set(["state:created", "state:updated", "state:deleted"]);

/** The function that svc-state's triggers call. */
const FUNCTION_ID = "engine::event::state_changed";

export function isStateTopic(topic: string): boolean {
  return STATE_TOPICS.has(topic);
}

/** What holds one of the triggers. */
interface Hold {
  /** Undefined until it is bound, and when that failed. */
  id: string | undefined;
  readonly settled: Promise<void>;
}

/**
 * Publishes changes of state as events. It listens to a kind of change as anybody would, by a trigger of that type, and only while
 * somebody listens to the topic: a change that nobody is told of costs its writer nothing. The trigger waits where svc-state is not loaded yet, and
 * moves to the new one when it is started anew.
 */
export class StateEvents {
  readonly #context: Pick<ModuleContext<unknown>, "provideFunction" | "unownedTriggers" | "directory" | "log">;
  readonly #hasListeners: (topic: string) => boolean;
  readonly #publish: (event: PublishedEvent) => void;
  readonly #held = new Map<string, Hold>();
  #unlisten: Undo = () => {};
  #stopped = false;

  constructor(options: {
    readonly context: Pick<ModuleContext<unknown>, "provideFunction" | "unownedTriggers" | "directory" | "log">;
    readonly hasListeners: (topic: string) => boolean;
    readonly publish: (event: PublishedEvent) => void;
  }) {
    this.#context = options.context;
    this.#hasListeners = options.hasListeners;
    this.#publish = options.publish;
  }

  start(): void {
    const { provideFunction, directory } = this.#context;
    provideFunction({
      id: FUNCTION_ID,
      summary: "Publishes a change of state as an event; called by the triggers of svc-state alone",
      input: z.looseObject({ event_type: z.string(), scope: z.string(), key: z.string() }),
      // Their digits are kept as they were stored.
      rawMembers: ["old_value", "new_value"],
      handle: (input, { caller, traceparent, baggage }) => {
        if (caller !== undefined || !isStateTopic(input.event_type)) throw new CallError("FORBIDDEN", `${FUNCTION_ID} is for the engine itself`);
        const topic = input.event_type;
        const data = Payload.fromText(jsonOf(input));
        const publisher = JSON.stringify([input.scope, input.key]);
        this.#publish({ topic, data, publisher, isState: true, call: { traceparent, baggage, metadata: topicMetadata(topic) } });
        return Payload.null;
      },
    });
    this.#unlisten = directory.onChange(({ kind, id, op }) => {
      if (kind === "trigger" && op === "removed") this.#removed(id);
    });
  }

  /** Call when somebody listens, or no longer does. */
  refresh(): void {
    if (this.#stopped) return;
    for (const topic of STATE_TOPICS) {
      const isWanted = this.#hasListeners(topic);
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
    const bound = unownedTriggers.register({ triggerType: topic, functionId: FUNCTION_ID, config: {}, metadata: undefined }, undefined);
    const hold: Hold = {
      id: undefined,
      settled: bound.then(
        (id) => {
          hold.id = id;
        },
        (error: unknown) => {
          // The next one who listens has it tried again.
          if (this.#held.get(topic) === hold) this.#held.delete(topic);
          log.warn("changes of state are not published as events", { topic, error });
        },
      ),
    };
    this.#held.set(topic, hold);
  }

  async #release(topic: string, hold: Hold): Promise<void> {
    this.#held.delete(topic);
    await hold.settled;
    if (hold.id !== undefined) this.#context.unownedTriggers.remove(hold.id, undefined);
  }

  /** Whoever administers the engine may have taken it away; as long as somebody listens it is there. */
  #removed(id: string): void {
    const held = [...this.#held].find(([, hold]) => hold.id === id);
    if (held === undefined) return;
    this.#held.delete(held[0]);
    this.refresh();
  }
}

/** As it came, its raw members unread. */
function jsonOf(event: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(event).map(([name, value]) => `${JSON.stringify(name)}:${value instanceof Payload ? value.text() : JSON.stringify(value)}`);
  return `{${members.join(",")}}`;
}
