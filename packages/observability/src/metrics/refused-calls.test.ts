import {
  accessTo,
  type InMemoryEngine,
  type InMemoryWorker,
  inMemoryEngine,
  manualClock,
} from "@svc-runtime/engine/testing";
import parsePrometheus from "parse-prometheus-text-format";
import { afterEach, expect, test } from "vitest";
import observability, { OBSERVABILITY } from "../index.ts";

let engine: InMemoryEngine | undefined;
afterEach(async () => {
  await engine?.stop();
});

/**
 * Returns an engine with a limit of calls in flight per caller, and a worker that provides `math::add`, never responds
 * and holds two calls.
 */
async function start(maxCallsInFlight = 1) {
  const clock = manualClock();
  const running = await inMemoryEngine({
    modules: [observability],
    config: { [OBSERVABILITY]: { prometheus: { port: 0 } } },
    clock,
    limits: { maxCallsInFlight, maxCallsHeld: 2 },
  });
  engine = running;
  const worker = await running.connectWorker({ name: "math" });
  worker.say({ type: "registerfunction", id: "math::add" });
  await settled(worker);
  const refused = async (): Promise<Readonly<Record<string, number>>> => {
    const { engine_metrics } = (await running.call("engine::metrics::list")) as {
      readonly engine_metrics: { readonly invocations: { readonly refused: Readonly<Record<string, number>> } };
    };
    return engine_metrics.invocations.refused;
  };
  return { running, clock, refused };
}

/** Resolves when everything sent before has been handled. */
async function settled(worker: InMemoryWorker): Promise<void> {
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
}

const codeOf = async (answer: Promise<Record<string, unknown>>): Promise<unknown> =>
  ((await answer).error as { readonly code: string }).code;

test("calls that access rules or the caller's own limit refuse are counted by their code, whether an answer is awaited or not", async () => {
  const { running, refused } = await start();
  const guest = await running.connectWorker({ name: "guest", access: accessTo(["math::add"]) });
  expect(await codeOf(guest.call("math::forbidden"))).toBe("FORBIDDEN");
  guest.say({ type: "invokefunction", function_id: "math::forbidden", data: {}, action: { type: "void" } });
  guest.say({ type: "invokefunction", function_id: "math::add", data: {}, invocation_id: crypto.randomUUID() });
  expect(await codeOf(guest.call("math::add"))).toBe("too_many_calls");
  guest.say({ type: "invokefunction", function_id: "math::add", data: {} });
  await settled(guest);
  expect(await refused()).toEqual({
    FORBIDDEN: 2,
    draining: 0,
    enqueue_error: 0,
    function_not_found: 0,
    invalid_message: 0,
    too_many_calls: 2,
    worker_overloaded: 0,
  });
});

test("calls that are refused for what they say or what they need are counted by their code", async () => {
  const { running, refused } = await start(2);
  const caller = await running.connectWorker({ name: "caller" });
  expect(await codeOf(caller.call("math::add", {}, { action: { type: "enqueue", queue: "q" } }))).toBe("enqueue_error");
  caller.say({ type: "invokefunction", function_id: "math::add", action: { type: "enqueue", queue: "q" }, data: {} });
  const used = await running.connectWorker({ name: "used" });
  const invocation_id = crypto.randomUUID();
  for (let time = 0; time < 2; time++)
    used.say({ type: "invokefunction", invocation_id, function_id: "math::add", data: {} });
  await used.next((frame) => frame.type === "error");
  await settled(caller);
  expect(await refused()).toMatchObject({ enqueue_error: 2, invalid_message: 1 });
  const inFront = accessTo(["math::add"], { middlewareFunctionId: "mw" });
  const guest = await running.connectWorker({ name: "guest", access: inFront });
  guest.send('{"type":"invokefunction","function_id":"math::add","data":{"a":tru}}');
  await settled(guest);
  expect(await refused()).toMatchObject({ invalid_message: 2 });
  const queue = await running.connectWorker({ name: "queue" });
  queue.say({ type: "registerfunction", id: "engine::queue::enqueue" });
  await settled(queue);
  expect(running.directory.functionById("engine::queue::enqueue")).toBeDefined();
  caller.send(
    '{"type":"invokefunction","function_id":"math::add","action":{"type":"enqueue","queue":"q"},"data":{"a":tru}}',
  );
  await settled(caller);
  expect(await refused()).toMatchObject({ enqueue_error: 2, invalid_message: 3 });
});

test("calls that cannot be routed are counted by error code", async () => {
  const { running, refused } = await start();
  const outcomes = Array.from({ length: 5 }, () => running.call("math::add").catch((error: unknown) => error));
  expect(await Promise.all(outcomes.slice(2))).toMatchObject(new Array(3).fill({ code: "worker_overloaded" }));
  expect(await refused()).toMatchObject({ worker_overloaded: 3 });
});

test("rejected calls of a console are not counted: its polling would trigger an alert", async () => {
  const { running, clock, refused } = await start();
  const page = await running.connectWorker({ name: "console", kind: "console" });
  expect(await codeOf(page.call("cron::list"))).toBe("function_not_found");
  page.say({ type: "invokefunction", function_id: "math::add", data: {}, invocation_id: crypto.randomUUID() });
  expect(await codeOf(page.call("math::add"))).toBe("too_many_calls");
  expect(await refused()).toMatchObject({ FORBIDDEN: 0, function_not_found: 0, too_many_calls: 0 });
  const counted = async (): Promise<string> => {
    clock.advance(5_000);
    return JSON.stringify(await running.call("engine::metrics::series", { names: ["svc.calls"] }));
  };
  expect(await counted()).not.toContain('"(other)"');
  const command = await running.connectWorker({ name: "cli", kind: "cli" });
  expect(await codeOf(command.call("cron::list"))).toBe("function_not_found");
  expect(await refused()).toMatchObject({ function_not_found: 1 });
  expect(await counted()).toContain('"(other)"');
});

test("unknown ids create no series, neither over time nor for Prometheus", async () => {
  const { running, clock, refused } = await start();
  const caller = await running.connectWorker({ name: "caller" });
  for (let call = 0; call < 500; call++)
    expect(await codeOf(caller.call(`unknown::${call}`))).toBe("function_not_found");
  clock.advance(5_000);
  expect(await refused()).toMatchObject({ function_not_found: 500 });
  const { series } = (await running.call("engine::metrics::series", {
    names: ["svc.calls", "svc.calls.refused"],
    aggregate: "sum",
  })) as {
    readonly series: readonly {
      readonly name: string;
      readonly labels: object;
      readonly points: readonly (readonly [number, number | null])[];
    }[];
  };
  const sums = series.map(({ name, labels, points }) => [
    name,
    labels,
    points.reduce((sum, [, value]) => sum + (value ?? 0), 0),
  ]);
  expect(sums).toContainEqual(["svc.calls.refused", { code: "function_not_found" }, 500]);
  expect(sums).toContainEqual(["svc.calls", { function_id: "(other)", outcome: "refused" }, 500]);
  expect(sums.length).toBeLessThan(12);
  const port = running.logs.find(({ message }) => message === "metrics are served to Prometheus")?.fields?.port;
  const families = parsePrometheus(await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text());
  const { metrics = [] } = families.find(({ name }) => name === "svc_calls_refused_total") ?? {};
  expect(metrics).toContainEqual({ value: "500", labels: { code: "function_not_found" } });
  expect(metrics).toContainEqual({ value: "0", labels: { code: "FORBIDDEN" } });
  expect(metrics).toHaveLength(7);
});
