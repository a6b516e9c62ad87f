import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import type { Session, TriggerResult } from "./session.ts";
import type { ConfigOf } from "./trigger-configs.ts";

export interface TriggerInput<Type extends string = string> {
  /** `http`, `cron`, `state`, or a type that a worker provides. */
  readonly type: Type;
  readonly function_id: string;
  /** What the type wants to know, e.g. `{api_path, http_method}` for `http`. */
  readonly config: ConfigOf<Type>;
  /** Handed to the handler as `context.metadata` on each fire. */
  readonly metadata?: unknown;
}

export interface RegisteredTrigger {
  /** Made here, kept over reconnects. */
  readonly id: string;
  /**
   * The engine's first word on it. Never rejects. Without a word within 30 seconds it resolves `inactive` and says so; when the
   * trigger or the worker ends first, likewise.
   */
  readonly registered: Promise<TriggerResult>;
  /** The engine's last word on it; undefined before the first. */
  readonly status: TriggerResult | undefined;
  /** Tells of each word of the engine from now on: a trigger turns inactive when its type or its function goes, and active again. Returns how to stop that. */
  onStatus(listener: (result: TriggerResult) => void): () => void;
  /** Removes the trigger. Once is enough; again does nothing. */
  unregister(): void;
}

const RESULT_TIMEOUT_MS = 30_000;

interface Entry {
  readonly input: TriggerInput;
  /** Undefined once the engine's first word has come. */
  settle: ((result: TriggerResult) => void) | undefined;
  status: TriggerResult | undefined;
  /** The engine has taken it: whatever comes later is no refusal. */
  wasActive: boolean;
  readonly listeners: Set<(result: TriggerResult) => void>;
}

/** The triggers that this worker asked for, and what the engine says about each. */
export class Triggers {
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();

  constructor(options: { readonly session: Session; readonly clock: Clock; readonly logger: Logger }) {
    this.#session = options.session;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  register(input: TriggerInput): RegisteredTrigger {
    const id = this.#session.registerTrigger(input);
    const entry: Entry = { input, settle: undefined, status: undefined, wasActive: false, listeners: new Set() };
    const registered = new Promise<TriggerResult>((resolve) => {
      const late = { status: "inactive", reason: `the engine has said nothing about it within ${RESULT_TIMEOUT_MS} ms` } as const;
      const cancelTimer = this.#clock.after(RESULT_TIMEOUT_MS, () => entry.settle?.(late));
      entry.settle = (result) => {
        entry.settle = undefined;
        cancelTimer();
        resolve(result);
      };
    });
    this.#entries.set(id, entry);
    return {
      id,
      registered,
      get status() {
        return entry.status;
      },
      onStatus: (listener) => {
        // Wrapped, so that one function given twice is two listeners, each undone on its own.
        const each = (result: TriggerResult): void => listener(result);
        entry.listeners.add(each);
        return () => {
          entry.listeners.delete(each);
        };
      },
      unregister: () => {
        if (!this.#entries.delete(id)) return;
        this.#session.unregisterTrigger(id, input.type);
        entry.settle?.({ status: "inactive", reason: "the trigger was unregistered" });
      },
    };
  }

  /** The engine's word; it may change later, e.g. when the function's last worker goes. */
  settle(id: string, result: TriggerResult): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const fields = { trigger_id: id, trigger_type: entry.input.type, function_id: entry.input.function_id, ...result };
    if (result.status === "error") this.#logger.error(entry.wasActive ? "a trigger has a problem" : "a trigger could not be bound", fields);
    else this.#logger.debug("a trigger's status", fields);
    entry.status = result;
    entry.wasActive ||= result.status === "active";
    entry.settle?.(result);
    for (const listener of [...entry.listeners]) {
      try {
        listener(result);
      } catch (error) {
        this.#logger.error("a listener for a trigger's status failed", { ...fields, error });
      }
    }
  }

  close(): void {
    for (const { settle } of this.#entries.values()) settle?.({ status: "inactive", reason: "the worker was shut down" });
    this.#entries.clear();
  }
}
