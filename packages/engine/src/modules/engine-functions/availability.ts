import { Payload } from "@svc/protocol";
import { z } from "zod";
import type { FunctionView } from "../../kernel/directory.ts";
import type { ModuleContext, TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import { functionRow } from "./functions.ts";
import { Sight } from "./sight.ts";

/** Changes of this time go out together: a worker that registers ten functions is one change. In milliseconds. */
const BATCH_MS = 50;
/** Events that wait for a function that is slow to take them; the oldest goes. */
const MAX_WAITING = 1_000;

type Context = Pick<ModuleContext<unknown>, "accessOf" | "directory" | "clock" | "log" | "provideTrigger">;
type Binding = TriggerBinding<unknown>;
type Hearer = FunctionView["workers"][number];

/** Trigger types by which workers hear at once who comes and goes. Returns how to stop listening. */
export function provideAvailabilityTriggers(context: Context): Undo {
  const { directory, clock, provideTrigger } = context;
  const functions = new FunctionsAvailable(context);
  const workers = new WorkersAvailable(context);
  provideTrigger({
    type: "engine::functions-available",
    summary: "A function appeared or went: {event: functions_changed, functions: [rows of engine::functions::list, internal ones included]}",
    settings: z.looseObject({}),
    bind: (binding) => functions.bind(binding),
  });
  provideTrigger({
    type: "engine::workers-available",
    summary: "A worker connected, introduced itself anew or went: {event: worker_connected | worker_metadata_updated | worker_disconnected, worker_id}",
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

/** False while the trigger is kept for a worker that is away: what happens meanwhile it sees in the listings when it returns. */
function isHeard({ functionId }: Binding, { directory }: Context): boolean {
  return directory.functionById(functionId) !== undefined;
}

/** The worker that hears. */
function hearerOf({ functionId }: Binding, { directory }: Context): Hearer | undefined {
  return directory.functionById(functionId)?.workers[0];
}

/** What the worker that hears may see, in the shape that its client expects. */
function sightOf(hearer: Hearer | undefined, { directory, accessOf }: Context): Sight {
  if (hearer === undefined) return new Sight(directory, { caller: undefined, access: undefined });
  return new Sight(directory, { caller: { worker_id: hearer.id, name: hearer.name }, access: accessOf(hearer.id) });
}

class FunctionsAvailable {
  readonly #context: Context;
  readonly #outboxes = new Map<Binding, Outbox>();
  /** The ids that were told of last. */
  #known = "";

  constructor(context: Context) {
    this.#context = context;
  }

  bind(binding: Binding): Undo {
    // While nobody listens nobody looks.
    if (this.#outboxes.size === 0) this.#known = this.#ids();
    // Only the latest list is of interest to who was slow to take the one before.
    return openOutbox(this.#outboxes, new Outbox(binding, this.#context.log, 1));
  }

  changed(): void {
    if (this.#outboxes.size === 0) return;
    const now = this.#ids();
    // What went and came back meanwhile has not changed.
    if (now === this.#known) return;
    this.#known = now;
    for (const [binding, outbox] of this.#outboxes) if (isHeard(binding, this.#context)) outbox.put(() => this.#eventFor(binding));
  }

  #ids(): string {
    return JSON.stringify(this.#context.directory.functions().map(({ function_id }) => function_id));
  }

  #eventFor(binding: Binding): unknown {
    const sight = sightOf(hearerOf(binding, this.#context), this.#context);
    return { event: "functions_changed", functions: sight.functions().map((view) => functionRow(view, sight.dialect)) };
  }
}

class WorkersAvailable {
  readonly #context: Context;
  readonly #outboxes = new Map<Binding, Outbox>();
  /** Workers that were told of, so that each is told of once, and nobody hears of the end of one that was never told of. */
  readonly #told: Set<string>;
  /** By restricted subscriber: the workers that it could see at some time. Only their disconnects are reported to it. */
  readonly #shown = new Map<string, Set<string>>();

  constructor(context: Context) {
    this.#context = context;
    this.#told = new Set(
      context.directory
        .workers()
        .filter(({ internal }) => !internal)
        .map(({ id }) => id),
    );
  }

  bind(binding: Binding): Undo {
    this.#shownTo(hearerOf(binding, this.#context));
    return openOutbox(this.#outboxes, new Outbox(binding, this.#context.log, MAX_WAITING));
  }

  /** These workers may have become visible. */
  registered(ids: ReadonlySet<string>): void {
    for (const binding of this.#outboxes.keys()) this.#shownTo(hearerOf(binding, this.#context));
    for (const id of ids) this.#show(id);
  }

  changed(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const view = this.#context.directory.workerById(id);
      if (view === undefined) {
        if (this.#told.delete(id)) this.#tell("worker_disconnected", id);
        this.#shown.delete(id);
        for (const shown of this.#shown.values()) shown.delete(id);
      } else if (!view.internal) {
        this.#show(id);
        if (!this.#told.has(id)) this.#tell("worker_connected", id);
        this.#told.add(id);
        this.#tell("worker_metadata_updated", id);
      }
    }
  }

  #tell(event: string, worker_id: string): void {
    for (const [binding, outbox] of this.#outboxes) {
      const hearer = hearerOf(binding, this.#context);
      if (hearer === undefined) continue;
      const isSeen =
        event === "worker_disconnected" ? (this.#shownTo(hearer)?.has(worker_id) ?? true) : sightOf(hearer, this.#context).worker(worker_id) !== undefined;
      if (isSeen) outbox.put(() => ({ event, worker_id }));
    }
  }

  /** Workers that the hearer could see since it first heard; undefined when it is not restricted. */
  #shownTo(hearer: Hearer | undefined): ReadonlySet<string> | undefined {
    if (hearer === undefined || this.#context.accessOf(hearer.id) === undefined) return undefined;
    let shown = this.#shown.get(hearer.id);
    if (shown === undefined) {
      shown = new Set(
        sightOf(hearer, this.#context)
          .workers()
          .map(({ id }) => id),
      );
      this.#shown.set(hearer.id, shown);
    }
    return shown;
  }

  #show(id: string): void {
    const { directory, accessOf } = this.#context;
    for (const [hearer, shown] of this.#shown) {
      if (!shown.has(id) && accessOf(hearer)?.visible(directory).workerById(id) !== undefined) shown.add(id);
    }
  }
}

/** Calls one bound function with one event after the other, in order. At most `limit` events wait; then the oldest goes. */
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

  /** The event is made when its turn comes. */
  put(event: () => unknown): void {
    if (this.#waiting.length >= this.#limit) this.#waiting.shift();
    this.#waiting.push(event);
    if (!this.#isSending) void this.#send();
  }

  /** What waits is dropped. */
  close(): void {
    this.#waiting.length = 0;
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
      try {
        await this.binding.fire(Payload.fromValue(event()));
      } catch (error) {
        this.#log.warn("a function that hears of availability failed", { functionId: this.binding.functionId, error });
      }
    }
    this.#isSending = false;
  }
}
