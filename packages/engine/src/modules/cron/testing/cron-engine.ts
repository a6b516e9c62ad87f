import type { Module } from "../../../kernel/module.ts";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine, type ManualClock } from "../../../testing/index.ts";
import { cron } from "../index.ts";

/** An engine with svc-cron, its store in `dataDir`. */
export function cronEngine(options: { readonly clock: ManualClock; readonly dataDir?: string; readonly modules?: readonly Module[] }): Promise<InMemoryEngine> {
  return inMemoryEngine({ ...options, modules: [cron, ...(options.modules ?? [])] });
}

/** What a function was told. */
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
  /** The ticks' times, in the order in which the function began. */
  times(): string[];
  /** Resolves when the function has begun so often. */
  count(times: number): Promise<void>;
}

/** A worker whose function `functionId` hands each tick to `handle`. */
export async function ticking(engine: InMemoryEngine, functionId = "on::tick", handle: (tick: Tick) => unknown = () => null): Promise<Ticking> {
  const worker = await engine.connectWorker({ name: functionId });
  const ticks: Tick[] = [];
  const waiting = new Set<() => void>();
  worker.serve(functionId, (data) => {
    const tick = data as Tick;
    ticks.push(tick);
    for (const look of waiting) look();
    return handle(tick);
  });
  return {
    worker,
    ticks,
    times: () => ticks.map((tick) => tick.scheduled_time),
    count: (times) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (ticks.length < times) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

let triggers = 0;

/** Asks for a cron trigger and resolves with the answer; when it is active, its schedule has been read from the store. */
export async function bind(
  engine: InMemoryEngine,
  worker: InMemoryWorker,
  config: unknown,
  options: { readonly functionId?: string; readonly id?: string } = {},
): Promise<Record<string, unknown>> {
  const id = options.id ?? `cron-${++triggers}`;
  worker.say({ type: "registertrigger", id, trigger_type: "cron", function_id: options.functionId ?? "on::tick", config });
  const answer = await worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
  if (answer.error === undefined) await storeAnswered(engine, id);
  return answer;
}

/** One line of history. */
export interface Line {
  readonly scheduled_time: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly outcome: string | null;
  readonly error?: string;
  readonly manual?: boolean;
  readonly passed_over?: number;
}

/** The latest first. Whatever was asked of the store before has been answered then. */
export async function history(engine: InMemoryEngine, id: string): Promise<Line[]> {
  const { runs } = (await engine.call("cron::history", { trigger_id: id, limit: 100 })) as { readonly runs: Line[] };
  return runs;
}

/** Resolves when the store has answered what was asked before, and the turns in which that has its effect are over. */
export async function storeAnswered(engine: InMemoryEngine, id: string): Promise<void> {
  await turns();
  await history(engine, id);
  await turns();
}

/** Moves the clock on second by second; after each step that something started in, what is started is let end. */
export async function pass(engine: InMemoryEngine, clock: ManualClock, id: string, ms: number, stepMs = 1_000): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(Math.min(stepMs, ms - passed));
    await settled(engine, id);
  }
}

/** Resolves when a start that was under way has been stored, called, answered and stored again. */
export async function settled(engine: InMemoryEngine, id: string): Promise<void> {
  for (let round = 0; round < 2; round++) await storeAnswered(engine, id);
}

export async function turns(count = 10): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A gate that a handler waits at. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}
