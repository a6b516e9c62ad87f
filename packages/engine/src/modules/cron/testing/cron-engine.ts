import type { Module } from "../../../kernel/module.ts";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine, type ManualClock } from "../../../testing/index.ts";
import { cron } from "../index.ts";

/** Starts an engine with svc-cron, with its store in `dataDir`. */
export function cronEngine(options: {
  readonly clock: ManualClock;
  readonly dataDir?: string;
  readonly modules?: readonly Module[];
}): Promise<InMemoryEngine> {
  return inMemoryEngine({ ...options, modules: [cron, ...(options.modules ?? [])] });
}

/** Input of a called function. */
export interface Tick {
  readonly trigger: string;
  readonly job_id: string;
  readonly scheduled_time: string;
  readonly actual_time: string;
  readonly manual?: boolean;
}

export interface Ticking {
  readonly worker: InMemoryWorker;
  readonly ticks: readonly Tick[];
  /** Times of the ticks, in the order of the calls. */
  times(): string[];
  /** Resolves when the function was called this many times. */
  count(times: number): Promise<void>;
}

/** Connects a worker whose function `functionId` passes each tick to `handle`. */
export async function ticking(
  engine: InMemoryEngine,
  functionId = "on::tick",
  handle: (tick: Tick) => unknown = () => null,
): Promise<Ticking> {
  const worker = await engine.connectWorker({ name: functionId });
  const ticks: Tick[] = [];
  const waiting = new Set<() => void>();
  worker.serve(functionId, (data) => {
    const tick = data as Tick;
    ticks.push(tick);
    for (const check of waiting) check();
    return handle(tick);
  });
  return {
    worker,
    ticks,
    times: () => ticks.map((tick) => tick.scheduled_time),
    count: (times) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (ticks.length < times) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}

let triggers = 0;

/**
 * Registers a cron trigger and resolves with the result. If it is active, its schedule has been read from the store.
 */
export async function bind(
  engine: InMemoryEngine,
  worker: InMemoryWorker,
  config: unknown,
  options: { readonly functionId?: string; readonly id?: string } = {},
): Promise<Record<string, unknown>> {
  const id = options.id ?? `cron-${++triggers}`;
  worker.say({
    type: "registertrigger",
    id,
    trigger_type: "cron",
    function_id: options.functionId ?? "on::tick",
    config,
  });
  const answer = await worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
  if (answer.error === undefined) await storeIdle(engine, id);
  return answer;
}

/** An entry of the history. */
export interface Line {
  readonly scheduled_time: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly outcome: string | null;
  readonly error?: string;
  readonly manual?: boolean;
  readonly passed_over?: number;
}

/** Returns the history, the latest first. All earlier requests to the store are done then. */
export async function history(engine: InMemoryEngine, id: string): Promise<Line[]> {
  const { runs } = (await engine.call("cron::history", { trigger_id: id, limit: 100 })) as { readonly runs: Line[] };
  return runs;
}

/** Resolves when earlier requests to the store are done, and the turns in which they take effect are over. */
export async function storeIdle(engine: InMemoryEngine, id: string): Promise<void> {
  await turns();
  await history(engine, id);
  await turns();
}

/** Advances the clock in steps of `stepMs`. After each step, waits until started runs have ended. */
export async function pass(
  engine: InMemoryEngine,
  clock: ManualClock,
  id: string,
  ms: number,
  stepMs = 1_000,
): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(Math.min(stepMs, ms - passed));
    await settled(engine, id);
  }
}

/** Resolves when a start in progress has been stored, called, completed and stored again. */
export async function settled(engine: InMemoryEngine, id: string): Promise<void> {
  for (let round = 0; round < 2; round++) await storeIdle(engine, id);
}

export async function turns(count = 10): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A promise that a handler waits for until `open` is called. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}
