import { CallError } from "@svc-runtime/protocol";
import { mayBeStored } from "../../../store/may-be-stored.ts";
import type { Scheduler } from "./scheduler.ts";
import type { RunningEngine, SimulatedNode } from "./simulated-node.ts";

/** What a client knows after a call. `unknown`: it may have been executed, or may still be. */
export type CallOutcome =
  | { readonly status: "ok"; readonly output: unknown }
  | { readonly status: "failed" | "unknown"; readonly code: string; readonly executed?: string | undefined };

/** Time after which a client gives up, in milliseconds. */
const GIVE_UP_MS = 45_000;

/** Mean time between two calls of a client, in milliseconds. */
const PAUSE_MS = 900;

/** Calls a function of an engine, as a program on another machine does. */
export function callEngine(
  scheduler: Scheduler,
  { process, engine, onEnd }: RunningEngine,
  functionId: string,
  payload: unknown,
): Promise<CallOutcome> {
  return new Promise((resolve) => {
    const settle = (outcome: CallOutcome): void => {
      cancel();
      resolve(outcome);
    };
    const cancel = scheduler.after(GIVE_UP_MS, undefined, "client gives up", () =>
      resolve({ status: "unknown", code: "gave_up" }),
    );
    onEnd.push(() => settle({ status: "unknown", code: "engine_ended" }));
    const arrives = (outcome: CallOutcome): void =>
      void scheduler.after(scheduler.latency(2), process, `${functionId} answers ${outcome.status}`, () =>
        settle(outcome),
      );
    scheduler.after(scheduler.latency(2), process, `${functionId} is called`, () => {
      engine.call(functionId, payload).then(
        (output) => arrives({ status: "ok", output }),
        (error: unknown) =>
          arrives({
            status: mayBeStored(error) ? "unknown" : "failed",
            code: CallError.is(error) ? error.code : String(error),
            executed: CallError.is(error) ? error.executed : undefined,
          }),
      );
    });
  });
}

/** A program that makes one call after the other. */
export interface ClientOptions {
  readonly scheduler: Scheduler;
  readonly nodes: readonly SimulatedNode[];
  /** No call begins after this time. */
  readonly until: number;
  /** Makes one call. */
  readonly step: (life: RunningEngine) => Promise<void>;
}

/** Makes calls until the end, mostly to the same engine. Resolves after the last one. */
export async function runClient({ scheduler, nodes, until, step }: ClientOptions): Promise<void> {
  const { random } = scheduler;
  let node = random.pick(nodes);
  for (;;) {
    await new Promise<void>((resolve) => scheduler.after(random.next() * 2 * PAUSE_MS, undefined, "client", resolve));
    if (scheduler.now >= until) return;
    if (node.running === undefined || random.chance(0.2)) node = random.pick(nodes);
    if (node.running !== undefined) await step(node.running);
  }
}
