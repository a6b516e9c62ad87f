import { expect, onTestFinished, test } from "vitest";
import type { FunctionStats } from "./call-stats.ts";
import { type CauseCall, errorCauses } from "./error-causes.ts";
import { type ObservedEngine, observedEngine } from "./testing/observed-engine.ts";

interface Cause {
  readonly function_id: string;
  readonly code: string;
  readonly message: string;
  readonly count: number;
  readonly counts?: readonly number[];
  readonly last: { readonly trace_id: string };
}

let engine: ObservedEngine;

const causes = async (query: object = {}): Promise<{ readonly errors: readonly Cause[]; readonly total: number }> =>
  (await engine.call("engine::invocations::errors", query)) as Awaited<ReturnType<typeof causes>>;

/** A gateway whose calls fail in a function of another worker. */
async function withShop(
  config: Parameters<typeof observedEngine>[0] = {},
): Promise<Awaited<ReturnType<ObservedEngine["connectWorker"]>>> {
  const started = await observedEngine(config);
  onTestFinished(() => started.stop());
  engine = started;
  const gateway = await engine.connectWorker({ name: "gateway" });
  const shop = await engine.connectWorker({ name: "shop" });
  shop.serve("orders::get", (data) => {
    throw new Error(`Order ${(data as { readonly id: number }).id} not found`);
  });
  gateway.serve("api::get_order", async (data, { traceparent }) => {
    const answer = await gateway.call("orders::get", data, { traceparent });
    if (answer.error !== undefined) throw new Error(String((answer.error as { readonly message: string }).message));
  });
  gateway.serve("api::ping", () => {
    throw new Error("no route");
  });
  return gateway;
}

test("groups failures by the function that failed first, without the numbers of their messages", async () => {
  const gateway = await withShop();
  for (const id of [7, 1_234]) await gateway.call("api::get_order", { id });
  await gateway.call("api::ping");
  const { errors, total } = await causes();
  expect(errors.map(({ function_id, code, message, count }) => [function_id, code, message, count])).toEqual([
    ["api::ping", "invocation_failed", "no route", 1],
    ["orders::get", "invocation_failed", "Order 1234 not found", 2],
  ]);
  expect(total).toBe(2);
  expect(errors[0]?.last.trace_id).toMatch(/^[0-9a-f]{32}$/);
});

test("counts the failures of a cause over time", async () => {
  const gateway = await withShop();
  await gateway.call("api::ping");
  await gateway.call("api::ping");
  const end = Date.now() + 1_000;
  const { errors } = await causes({ start_time: end - 3_600_000, end_time: end, buckets: 4 });
  expect(errors[0]?.counts).toEqual([0, 0, 0, 2]);
  expect((await causes({ start_time: end })).errors).toEqual([]);
});

test("says that counts are lower bounds if failed calls of the range were evicted", async () => {
  const gateway = await withShop({ invocations_max_count: 20 });
  for (let at = 0; at < 5; at++) await gateway.call("api::ping");
  expect(await causes({ start_time: 0 })).not.toHaveProperty("counts_are_lower_bounds");
  for (let at = 0; at < 25; at++) await gateway.call("api::ping");
  const { errors, ...rest } = await causes({ start_time: 0 });
  expect(errors[0]?.count).toBe(20);
  expect(rest).toMatchObject({ counts_are_lower_bounds: true });
});

/** Returns a failed call that starts at the given time, in milliseconds, and takes 1 ms. */
function failedCall(at: number): CauseCall {
  return {
    ...{ invocationId: `i${at}`, traceId: "t", spanId: `s${at}`, internal: false, result: "error" },
    ...{ startedAtMs: at, duration: 1 },
    facts: { functionId: `loop::step${at % 2}`, stats: undefined as unknown as FunctionStats, internal: false },
    caller: { worker_id: "w" } as CauseCall["caller"],
    resource: { workerId: "w" } as CauseCall["resource"],
    failure: { code: "invocation_failed", message: "too deep" } as CauseCall["failure"],
  };
}

function historyOf(calls: readonly CauseCall[]): Parameters<typeof errorCauses>[0] {
  return {
    hasEvictedFailures: false,
    *[Symbol.iterator]() {
      yield* calls;
    },
  };
}

test("counts calls that started in the millisecond of the query", () => {
  const calls = historyOf([failedCall(1_000.5)]);
  expect(errorCauses(calls, { start_time: 0, buckets: 2 }, () => true, 1_000).errors).toMatchObject([
    { count: 1, counts: [0, 1] },
  ]);
});

test("reads each of many failed calls of one trace only a few times", () => {
  let reads = 0;
  const count = 4_000;
  // Each call is made by the one before.
  const calls = Array.from({ length: count }, (_, at) =>
    Object.defineProperties(failedCall(at), {
      startedAtMs: {
        get: () => {
          reads++;
          return at;
        },
      },
      duration: { value: 2 * (count - at) },
    }),
  );
  const { errors } = errorCauses(historyOf(calls), {}, () => true, count);
  // Only the innermost call is a cause.
  expect(errors.map(({ count: calls, last }) => [calls, last.span_id])).toEqual([[1, `s${count - 1}`]]);
  // 4,000 calls sorted and searched; in pairs it would be 8 million.
  expect(reads / count).toBeLessThan(100);
});
