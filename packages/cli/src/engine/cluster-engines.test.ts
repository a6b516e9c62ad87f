import { CallError } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import {
  awaitWorker,
  controlWorker,
  type EngineCalls,
  listWorkers,
  type WorkerState,
  workerStatus,
} from "../workers/worker-functions.ts";
import { callsTo } from "./cluster-engines.ts";

interface FakeEngine extends EngineCalls {
  readonly asked: readonly string[];
  /** Names of the workers that it runs. */
  readonly workers: Map<string, WorkerState>;
}

/** An engine that runs these workers, and has the module svc-state. */
function engine(node: string, ...workers: readonly string[]): FakeEngine {
  const states = new Map<string, WorkerState>(workers.map((name) => [name, "ready"]));
  const asked: string[] = [];
  const report = (name: string): unknown => ({ name, state: states.get(name), kind: "local", node, log_file: node });
  return {
    asked,
    workers: states,
    call: async (request) => {
      const { name } = (request.payload ?? {}) as { readonly name?: string };
      if (request.function_id === "worker::list")
        return {
          workers: [{ name: "svc-state", kind: "module", log_file: node }, ...[...states.keys()].map(report)],
        } as never;
      if (name === undefined || !states.has(name))
        throw new CallError("worker_not_found", `${node} has no ${String(name)}`);
      asked.push(`${request.function_id} ${name}`);
      return report(name) as never;
    },
  };
}

const awaited = { timeoutMs: 5_000, signal: new AbortController().signal };

describe("calls to the engines of a cluster", () => {
  it("about a worker go to the engine that runs it", async () => {
    const engines = callsTo([engine("a", "hello"), engine("b", "there"), engine("c")]);

    expect(await workerStatus(engines, "there", { tail: 0 })).toMatchObject({ name: "there", log_file: "b" });
    expect(await awaitWorker(engines, { name: "there", until: "settled", ...awaited })).toMatchObject({
      log_file: "b",
    });
    await expect(workerStatus(engines, "nobody", { tail: 0 })).rejects.toThrow("a has no nobody");
  });

  it("wait for a worker that no engine has yet", async () => {
    const [a, b] = [engine("a"), engine("b")];
    const late: EngineCalls = {
      call: async (request) => {
        if (request.function_id === "worker::wait") b.workers.set("there", "ready");
        return b.call(request);
      },
    };

    const waiting = awaitWorker(callsTo([a, late]), { name: "there", until: "settled", ...awaited });

    expect(await waiting).toMatchObject({ name: "there", log_file: "b" });
  });

  it("change a worker at each engine that runs processes of it, and return a report that is not ready", async () => {
    const [a, b, c] = [engine("a", "math"), engine("b", "math"), engine("c")];
    b.workers.set("math", "starting");
    const engines = callsTo([a, b, c]);

    await controlWorker(engines, "restart", "math");

    for (const { asked } of [a, b]) expect(asked).toContain("worker::restart math");
    expect(c.asked).toEqual([]);
    expect(await awaitWorker(engines, { name: "math", until: "settled", ...awaited })).toMatchObject({ log_file: "b" });
  });

  it("list the workers of all engines once, and the modules of the first", async () => {
    const listed = await listWorkers(callsTo([engine("a", "hello", "math"), engine("b", "there", "math")]));

    expect(listed.map(({ name, node, log_file }) => [name, node, log_file])).toEqual([
      ["hello", "a", "a"],
      ["math", "a, b", "a"],
      ["svc-state", undefined, "a"],
      ["there", "b", "b"],
    ]);
  });
});
