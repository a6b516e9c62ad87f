import type { Clock } from "../kernel/clock.ts";
import type { StreamEvent, SystemStream, SystemStreamSpec } from "../kernel/stream-contract.ts";
import { SYSTEM_GROUP, SYSTEM_PREFIX } from "./stream-path.ts";
import type { Topics } from "./topics.ts";

interface Provided {
  readonly spec: SystemStreamSpec;
  readonly listeners: Set<(wanted: boolean) => void>;
  subscribers: number;
}

/** The engine's own streams, provided by modules. */
export class SystemStreams {
  readonly #topics: Topics;
  readonly #clock: Clock;
  readonly #onStopped: (name: string) => void;
  readonly #provided = new Map<string, Provided>();

  /** `onStopped` ends the subscriptions of a stopped stream. */
  constructor(parts: { readonly topics: Topics; readonly clock: Clock; readonly onStopped: (name: string) => void }) {
    this.#topics = parts.topics;
    this.#clock = parts.clock;
    this.#onStopped = parts.onStopped;
  }

  get names(): readonly string[] {
    return [...this.#provided.keys()].sort();
  }

  find(name: string): SystemStreamSpec | undefined {
    return this.#provided.get(name)?.spec;
  }

  provide(spec: SystemStreamSpec): SystemStream {
    const { name } = spec;
    if (!name.startsWith(SYSTEM_PREFIX))
      throw new TypeError(`the engine's own streams begin with ${SYSTEM_PREFIX}: ${name}`);
    if (this.#provided.has(name)) throw new TypeError(`another module already provides the stream ${name}`);
    const own: Provided = { spec, listeners: new Set(), subscribers: 0 };
    this.#provided.set(name, own);
    const publish = (event: Pick<StreamEvent, "id" | "type" | "json">): void => {
      if (own.subscribers === 0) return;
      const { id, type, json } = event;
      this.#topics.publish(
        { stream: name, group: SYSTEM_GROUP, id, type, json, version: undefined },
        this.#clock.now(),
      );
    };
    return {
      publish,
      get subscribers() {
        return own.subscribers;
      },
      onDemand(listener) {
        const entry = (wanted: boolean): void => listener(wanted);
        own.listeners.add(entry);
        return () => own.listeners.delete(entry);
      },
      stop: () => {
        if (this.#provided.get(name) !== own) return;
        // End the subscriptions before the stream is deleted, so that its module is notified of the last one's end.
        this.#onStopped(name);
        this.#provided.delete(name);
      },
    };
  }

  /** Counts a subscription that was added (1) or removed (-1). */
  count(name: string, change: 1 | -1): void {
    const own = this.#provided.get(name);
    if (own === undefined) return;
    own.subscribers += change;
    if (change === 1 ? own.subscribers === 1 : own.subscribers === 0)
      for (const listener of own.listeners) listener(change === 1);
  }
}
