import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import type { FunctionView } from "../../kernel/directory.ts";
import type { ModuleContext, TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import { CallerView } from "./caller-view.ts";
import { functionRow } from "./functions.ts";

/**
 * Changes within this time are reported together, in milliseconds, so that a worker that registers ten functions causes
 * one event.
 */
const BATCH_MS = 50;
/** Maximum number of events that wait for a slow function. Above it the oldest is dropped. */
const MAX_WAITING = 1_000;

type Context = Pick<ModuleContext<unknown>, "accessOf" | "directory" | "clock" | "log" | "provideTrigger">;
type Binding = TriggerBinding<unknown>;
type Subscriber = FunctionView["workers"][number];

/**
 * Provides the trigger types that notify workers of connected and disconnected workers and of changed functions.
 * Returns a function that stops listening.
 */
export function provideAvailabilityTriggers(context: Context): Undo {
  const { directory, clock, provideTrigger } = context;
  const functions = new FunctionsAvailable(context);
  const workers = new WorkersAvailable(context);
  provideTrigger({
    type: "engine::functions-available",
    summary:
      "A function was added or removed: {event: functions_changed, functions: [rows of engine::functions::list, internal ones included]}",
    settings: z.looseObject({}),
    bind: (binding) => functions.bind(binding),
  });
  provideTrigger({
    type: "engine::workers-available",
    summary:
      "A worker connected, introduced itself again or disconnected: {event: worker_connected | worker_metadata_updated | worker_disconnected, worker_id}",
    settings: z.looseObject({}),
    bind: (binding) => workers.bind(binding),
  });
  let functionsChanged = false;
  const workersChanged = new Set<string>();
  const workersRegistered = new Set<string>();
  let cancel: Undo | undefined;
  const notifySoon = (): void => {
    cancel ??= clock.after(BATCH_MS, () => {
      cancel = undefined;
      if (functionsChanged) functions.changed();
      workers.registered(workersRegistered);
      workers.changed(workersChanged);
      functionsChanged = false;
      workersRegistered.clear();
      workersChanged.clear();
    });
  };
  const stopListening = directory.onChange(({ kind, id, op }) => {
    if (kind === "worker") workersChanged.add(id);
    else if (kind === "function" && op !== "updated") functionsChanged = true;
    else return;
    notifySoon();
  });
  const stopListeningToRegistrations = directory.onRegistration((id) => {
    workersRegistered.add(id);
    notifySoon();
  });
  return () => {
    stopListening();
    stopListeningToRegistrations();
    cancel?.();
  };
}

function openOutbox(outboxes: Map<Binding, Outbox>, outbox: Outbox): Undo {
  outboxes.set(outbox.binding, outbox);
  return () => {
    outboxes.delete(outbox.binding);
    outbox.close();
  };
}

/**
 * Returns true if the bound function has a provider. While its worker is disconnected, no event is sent: the worker
 * reads the listings when it reconnects.
 */
function hasProvider({ functionId }: Binding, { directory }: Context): boolean {
  return directory.functionById(functionId) !== undefined;
}

/** Returns the worker that receives the events. */
function subscriberOf({ functionId }: Binding, { directory }: Context): Subscriber | undefined {
  return directory.functionById(functionId)?.workers[0];
}

/** Returns the directory as the receiving worker may see it. The view also knows the version of the worker's client. */
function viewOf(subscriber: Subscriber | undefined, { directory, accessOf }: Context): CallerView {
  if (subscriber === undefined) return new CallerView(directory, { caller: undefined, access: undefined });
  return new CallerView(directory, {
    caller: { worker_id: subscriber.id, name: subscriber.name },
    access: accessOf(subscriber.id),
  });
}

class FunctionsAvailable {
  readonly #context: Context;
  readonly #outboxes = new Map<Binding, Outbox>();
  /** Ids of all functions at the last event, as JSON. */
  #known = "";

  constructor(context: Context) {
    this.#context = context;
  }

  bind(binding: Binding): Undo {
    // The ids are read now, because they are not tracked while there are no triggers.
    if (this.#outboxes.size === 0) this.#known = this.#ids();
    // At most one event waits, because a slow function needs only the latest list.
    return openOutbox(this.#outboxes, new Outbox(binding, this.#context.log, 1));
  }

  changed(): void {
    if (this.#outboxes.size === 0) return;
    const now = this.#ids();
    // If a function was removed and added again within `BATCH_MS`, the list has not changed.
    if (now === this.#known) return;
    this.#known = now;
    for (const [binding, outbox] of this.#outboxes)
      if (hasProvider(binding, this.#context)) outbox.put(() => this.#eventFor(binding));
  }

  #ids(): string {
    return JSON.stringify(this.#context.directory.functions().map(({ function_id }) => function_id));
  }

  #eventFor(binding: Binding): unknown {
    const view = viewOf(subscriberOf(binding, this.#context), this.#context);
    return { event: "functions_changed", functions: view.functions().map((row) => functionRow(row, view.dialect)) };
  }
}

class WorkersAvailable {
  readonly #context: Context;
  readonly #outboxes = new Map<Binding, Outbox>();
  /** Workers whose connect was reported. Each connect is reported once, and a disconnect only after a connect. */
  readonly #reported: Set<string>;
  /**
   * For each restricted subscriber, the workers that it could see at some time. Only their disconnects are reported to
   * it.
   */
  readonly #shown = new Map<string, Set<string>>();

  constructor(context: Context) {
    this.#context = context;
    this.#reported = new Set(
      context.directory
        .workers()
        .filter(({ internal }) => !internal)
        .map(({ id }) => id),
    );
  }

  bind(binding: Binding): Undo {
    this.#shownTo(subscriberOf(binding, this.#context));
    return openOutbox(this.#outboxes, new Outbox(binding, this.#context.log, MAX_WAITING));
  }

  /** Called for workers that may have become visible. */
  registered(ids: ReadonlySet<string>): void {
    for (const binding of this.#outboxes.keys()) this.#shownTo(subscriberOf(binding, this.#context));
    for (const id of ids) this.#show(id);
  }

  changed(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const view = this.#context.directory.workerById(id);
      if (view === undefined) {
        if (this.#reported.delete(id)) this.#report("worker_disconnected", id);
        this.#shown.delete(id);
        for (const shown of this.#shown.values()) shown.delete(id);
      } else if (!view.internal) {
        this.#show(id);
        if (!this.#reported.has(id)) this.#report("worker_connected", id);
        this.#reported.add(id);
        this.#report("worker_metadata_updated", id);
      }
    }
  }

  #report(event: string, worker_id: string): void {
    for (const [binding, outbox] of this.#outboxes) {
      const subscriber = subscriberOf(binding, this.#context);
      if (subscriber === undefined) continue;
      const isSeen =
        event === "worker_disconnected"
          ? (this.#shownTo(subscriber)?.has(worker_id) ?? true)
          : viewOf(subscriber, this.#context).worker(worker_id) !== undefined;
      if (isSeen) outbox.put(() => ({ event, worker_id }));
    }
  }

  /** Returns the workers that the subscriber could see since its first event; undefined if it is not restricted. */
  #shownTo(subscriber: Subscriber | undefined): ReadonlySet<string> | undefined {
    if (subscriber === undefined || this.#context.accessOf(subscriber.id) === undefined) return undefined;
    let shown = this.#shown.get(subscriber.id);
    if (shown === undefined) {
      shown = new Set(
        viewOf(subscriber, this.#context)
          .workers()
          .map(({ id }) => id),
      );
      this.#shown.set(subscriber.id, shown);
    }
    return shown;
  }

  #show(id: string): void {
    const { directory, accessOf } = this.#context;
    for (const [subscriber, shown] of this.#shown) {
      if (!shown.has(id) && accessOf(subscriber)?.visible(directory).workerById(id) !== undefined) shown.add(id);
    }
  }
}

/**
 * Calls one bound function with events, one at a time and in order. At most `limit` events wait; above it the oldest is
 * dropped.
 */
class Outbox {
  readonly binding: Binding;
  readonly #log: Context["log"];
  readonly #limit: number;
  readonly #waiting: (() => unknown)[] = [];
  #isSending = false;

  constructor(binding: Binding, log: Context["log"], limit: number) {
    this.binding = binding;
    this.#log = log;
    this.#limit = limit;
  }

  /** Adds an event. It is created when it is sent. */
  put(event: () => unknown): void {
    if (this.#waiting.length >= this.#limit) this.#waiting.shift();
    this.#waiting.push(event);
    if (!this.#isSending) void this.#send();
  }

  /** Drops the waiting events. */
  close(): void {
    this.#waiting.length = 0;
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
      try {
        await this.binding.fire(Payload.fromValue(event()));
      } catch (error) {
        this.#log.warn("a function bound to an availability trigger failed", {
          functionId: this.binding.functionId,
          error,
        });
      }
    }
    this.#isSending = false;
  }
}
