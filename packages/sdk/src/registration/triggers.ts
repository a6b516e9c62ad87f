import { type FunctionChoice, functionIdOf } from "../calls/call-request.ts";
import type { Clock } from "../clock.ts";
import type { Session, TriggerResult } from "../connection/session.ts";
import { Listeners } from "../listeners.ts";
import type { Logger } from "../logger.ts";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import { wireTriggerConfig } from "../names/trigger-config-names.ts";
import type { TriggerRegistration } from "./registrations.ts";
import type { ConfigOf } from "./trigger-configs.ts";

export type TriggerInput<Type extends string = string> = FunctionChoice & {
  /** Type of the trigger: `http`, `cron`, `state`, another type of the engine, or a type that a worker provides. */
  readonly type: Type;
  /** Config of the trigger type, e.g. `{api_path, http_method}` for `http`. */
  readonly config: ConfigOf<Type>;
  /** Metadata of the trigger. The handler gets it as `context.metadata` in each call. */
  readonly metadata?: unknown;
};

const members = optionNames("registerTrigger", ["type", "function_id", "functionId", "config", "metadata"]);

export interface RegisteredTrigger {
  /** Id that the worker assigned. It stays the same after reconnects. */
  readonly id: string;
  /**
   * Resolves to the first status. Never rejects. Resolves to `inactive` in three cases: no status arrives within 30
   * seconds; the trigger is unregistered before a status; the worker is shut down before a status.
   */
  readonly registered: Promise<TriggerResult>;
  /** The latest status. Undefined before the first one. */
  readonly status: TriggerResult | undefined;
  /**
   * Calls `listener` for each further status. A trigger becomes inactive when its type or its function is unregistered,
   * and active when it is registered again. Returns a function that removes the listener.
   */
  onStatus(listener: (result: TriggerResult) => void): () => void;
  /** Removes the trigger. Further calls of this method do nothing. */
  unregister(): void;
}

const RESULT_TIMEOUT_MS = 30_000;

interface Entry {
  readonly trigger: Omit<TriggerRegistration, "id">;
  /** Undefined after the first status. */
  settle: ((result: TriggerResult) => void) | undefined;
  status: TriggerResult | undefined;
  /** True if the engine has accepted the trigger. Later errors are then changes of its status, not rejections. */
  wasActive: boolean;
  readonly listeners: Listeners<[result: TriggerResult]>;
}

/** The triggers that this worker registered, and the status of each. */
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

  /**
   * @throws TypeError for an invalid type or function id, and for members that the trigger or its config does not have.
   */
  register(given: TriggerInput): RegisteredTrigger {
    const input = checkedOptions(given, members);
    const { type, metadata } = input;
    const trigger = { type, function_id: functionIdOf(input), config: wireTriggerConfig(type, input.config), metadata };
    const id = this.#session.registerTrigger(trigger);
    const entry: Entry = {
      trigger,
      settle: undefined,
      status: undefined,
      wasActive: false,
      listeners: new Listeners(),
    };
    const registered = new Promise<TriggerResult>((resolve) => {
      const late = { status: "inactive", reason: `the engine sent no result within ${RESULT_TIMEOUT_MS} ms` } as const;
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
      onStatus: (listener) => entry.listeners.add(listener),
      unregister: () => {
        if (!this.#entries.delete(id)) return;
        this.#session.unregisterTrigger(id, type);
        entry.settle?.({ status: "inactive", reason: "the trigger was unregistered" });
      },
    };
  }

  /**
   * Handles a status of a trigger. The status may change later, for example when the function's last worker
   * disconnects.
   */
  settle(id: string, result: TriggerResult): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const fields = {
      trigger_id: id,
      trigger_type: entry.trigger.type,
      function_id: entry.trigger.function_id,
      ...result,
    };
    if (result.status === "error")
      this.#logger.error(entry.wasActive ? "a trigger failed" : "the engine rejected a trigger", fields);
    else this.#logger.debug("trigger status changed", fields);
    entry.status = result;
    entry.wasActive ||= result.status === "active";
    entry.settle?.(result);
    entry.listeners.notify([result], (error) =>
      this.#logger.error("a listener for a trigger's status failed", { ...fields, error }),
    );
  }

  close(): void {
    for (const { settle } of this.#entries.values())
      settle?.({ status: "inactive", reason: "the worker was shut down" });
    this.#entries.clear();
  }
}
