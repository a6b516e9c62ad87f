import { expect } from "vitest";
import type { InMemoryEngine, InMemoryWorker } from "../../../../testing/index.ts";

/** An event of a handler, e.g. `updated k@3`. */
export interface OutboxEntry {
  readonly event: Readonly<Record<string, unknown>>;
  readonly frame: Readonly<Record<string, unknown>>;
}

export interface Listener {
  readonly worker: InMemoryWorker;
  readonly told: readonly OutboxEntry[];
  /** E.g. `created k@1`, in the order in which the handler started. */
  names(): string[];
  /** Resolves when the handler has started this many times. */
  count(times: number): Promise<void>;
}

/** Connects a worker whose function `functionId` passes each event to `handle`. */
export async function listener(
  engine: InMemoryEngine,
  functionId = "on::change",
  handle: (told: OutboxEntry, times: number) => unknown = () => null,
  options: Parameters<InMemoryEngine["connectWorker"]>[0] = {},
): Promise<Listener> {
  const worker = await engine.connectWorker({ name: functionId, ...options });
  const told: OutboxEntry[] = [];
  const waiting = new Set<() => void>();
  worker.serve(functionId, (event, frame) => {
    const one = { event: event as OutboxEntry["event"], frame };
    told.push(one);
    for (const look of waiting) look();
    return handle(one, told.length);
  });
  return {
    worker,
    told,
    names: () =>
      told.map(
        ({ event }) =>
          `${String(event.event_type).replace("state:", "")} ${String(event.key)}@${String(event.version)}`,
      ),
    count: (times) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (told.length < times) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

let triggers = 0;

/** Registers a trigger and resolves with the result. */
export async function bind(
  worker: InMemoryWorker,
  functionId: string,
  config: unknown = {},
  options: { readonly type?: string; readonly id?: string; readonly metadata?: unknown } = {},
): Promise<Record<string, unknown>> {
  const id = options.id ?? `trigger-${++triggers}`;
  worker.say({
    type: "registertrigger",
    id,
    trigger_type: options.type ?? "state",
    function_id: functionId,
    config,
    metadata: options.metadata,
  });
  return worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
}

/** Waits some turns of the event loop, in which due work is done. For checks that something does not happen. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Advances the clock in small steps, with turns of the event loop in between, until the condition is true. */
export async function advanceUntil(
  clock: { advance(ms: number): void },
  condition: () => boolean,
  limitMs = 120_000,
): Promise<number> {
  let moved = 0;
  await turns();
  for (; !condition() && moved < limitMs; moved += 50) {
    clock.advance(50);
    await turns(4);
  }
  expect(condition()).toBe(true);
  return moved;
}

/** Blocks a handler until it is opened. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}
