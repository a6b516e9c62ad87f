import { randomUUID } from "node:crypto";
import { CallError, type FunctionId, type InvocationId, Payload } from "@svc-runtime/protocol";
import { encodeNodeFrame, type NodeFrame } from "@svc-runtime/protocol/nodes";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { TRUSTED } from "../../access/principal.ts";
import { accessTo, type InMemoryEngine, type InMemoryWorker } from "../../testing/index.ts";
import type { Provider } from "../call.ts";
import { defineModule, type Module, type TriggerBinding } from "../module.ts";
import { InMemoryCluster } from "./testing/in-memory-cluster.ts";
import { Stranger } from "./testing/stranger.ts";

let cluster: InMemoryCluster;
let a: InMemoryEngine;
let b: InMemoryEngine;

beforeEach(async () => {
  cluster = new InMemoryCluster();
  a = await cluster.start("a");
  b = await cluster.start("b");
});
afterEach(() => cluster.stop());

/** Registers a function whose calls the test answers by hand. */
async function holdCalls(worker: InMemoryWorker, functionId: string) {
  worker.say({ type: "registerfunction", id: functionId });
  await cluster.exchange();
  return () => worker.next(({ type }) => type === "invokefunction");
}

const resultOf = (frame: Record<string, unknown>, result: unknown): Record<string, unknown> => ({
  type: "invocationresult",
  invocation_id: frame.invocation_id,
  function_id: frame.function_id,
  result,
});

describe("a worker of another node", () => {
  it("appears with its functions within one exchange, and is gone with them when it disconnects", async () => {
    const changes: string[] = [];
    b.directory.onChange(({ kind, id, op }) => changes.push(`${kind} ${id} ${op}`));
    const worker = await a.connectWorker({ name: "math" });
    worker.say({
      type: "registerfunction",
      id: "math::add",
      description: "Adds",
      request_format: { type: "object" },
      timeout_ms: 5_000,
    });
    await cluster.exchange();
    expect(b.directory.functionById("math::add")).toMatchObject({
      description: "Adds",
      request_format: { type: "object" },
      status: "available",
      worker_name: "math",
      workers: [{ id: worker.id, name: "math" }],
    });
    expect(b.directory.isProvidedHere("math::add")).toBe(false);
    expect(b.directory.workerById(worker.id)).toMatchObject({ name: "math", functions: ["math::add"], kind: "worker" });
    expect(b.directory.counters()).toMatchObject({ functions: 1, workers: 1 });
    worker.close();
    await cluster.exchange();
    expect(b.directory.functionById("math::add")).toBeUndefined();
    expect(b.directory.workerById(worker.id)).toBeUndefined();
    expect(changes).toContain("function math::add created");
    expect(changes.slice(-2).sort()).toEqual(["function math::add removed", `worker ${worker.id} removed`]);
  });

  it("runs calls with everything that belongs to them", async () => {
    const worker = await a.connectWorker();
    worker.serve("f", (data, { caller, metadata, timeout_ms, traceparent }) => ({
      data,
      caller,
      metadata,
      timeout_ms,
      traceparent,
    }));
    await cluster.exchange();
    const caller = await b.connectWorker({ name: "caller" });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const more = { metadata: { m: 1 }, timeout_ms: 4_000, traceparent };
    expect(await caller.call("f", { text: "zwölf 𝄞" }, more)).toMatchObject({
      result: {
        data: { text: "zwölf 𝄞" },
        caller: { worker_id: caller.id, name: "caller" },
        metadata: { m: 1 },
        timeout_ms: 4_000,
        traceparent,
      },
    });
    expect([a.kernel.router.counts.inFlight, b.kernel.router.counts.inFlight]).toEqual([0, 0]);
  });

  it("gets large payloads, and numbers with all their digits", async () => {
    const worker = await a.connectWorker();
    worker.serve("echo", (data) => data);
    const take = await holdCalls(worker, "raw");
    const large = "x".repeat(3_000_000);
    expect(await b.call("echo", { large })).toEqual({ large });
    const call = b.kernel.router.call("raw" as FunctionId, Payload.fromText("[123456789012345678901234567890]"));
    await cluster.exchange();
    expect(worker.received.at(-1)).toContain('{"data":[123456789012345678901234567890],');
    worker.say(resultOf(await take(), "taken"));
    expect((await call).value()).toBe("taken");
  });

  it("fails calls with its own errors", async () => {
    const worker = await a.connectWorker();
    worker.serve("f", () => {
      throw new CallError("no_luck", "try again");
    });
    await cluster.exchange();
    await expect(b.call("f", null)).rejects.toMatchObject({ code: "no_luck", message: "try again", executed: "yes" });
  });

  it("is told when the caller cancels or the deadline passes at its own node", async () => {
    const worker = await a.connectWorker();
    const take = await holdCalls(worker, "slow");
    const abort = new AbortController();
    const cancelled = b.call("slow", 1, { signal: abort.signal });
    const first = await take();
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ code: "call_cancelled" });
    expect(await worker.next(({ type }) => type === "cancelinvocation")).toMatchObject({
      invocation_id: first.invocation_id,
    });
    const late = b.call("slow", 1, { timeoutMs: 500 });
    late.catch(() => {});
    await take();
    await cluster.advance(600);
    await expect(late).rejects.toMatchObject({ code: "call_timeout" });
    expect([a.kernel.router.counts.inFlight, b.kernel.router.counts.inFlight]).toEqual([0, 0]);
  });

  it("keeps its calls when they are answered late, and the late answer has no effect", async () => {
    const worker = await a.connectWorker();
    const take = await holdCalls(worker, "slow");
    const late = b.call("slow", 1, { timeoutMs: 500 });
    late.catch(() => {});
    const frame = await take();
    cluster.network.partition(() => true);
    await cluster.advance(600);
    worker.say(resultOf(frame, "late"));
    cluster.network.heal();
    await cluster.advance(1_000);
    await expect(late).rejects.toMatchObject({ code: "call_timeout" });
    expect(b.kernel.router.counts).toMatchObject({ timedOut: 1, succeeded: 0, failed: 1 });
  });

  it("is preferred only if no worker of this node takes the call", async () => {
    const there = await a.connectWorker();
    there.serve("f", () => "there");
    await cluster.exchange();
    expect(await b.call("f", null)).toBe("there");
    const here = await b.connectWorker();
    here.serve("f", () => "here");
    await cluster.exchange();
    expect(await Promise.all([b.call("f", 1), b.call("f", 2), a.call("f", 3)])).toEqual(["here", "here", "there"]);
    here.close();
    await cluster.exchange();
    expect(await b.call("f", null)).toBe("there");
  });

  it("takes over when the worker of this node has much more to do", async () => {
    const there = await a.connectWorker();
    there.serve("f", () => "there");
    const here = await b.connectWorker();
    await holdCalls(here, "f");
    const calls = Array.from({ length: 20 }, () => b.call("f", null));
    const settled = Promise.allSettled(calls);
    await cluster.exchange();
    const delivered = here.received.filter((frame) => frame.includes('"type":"invokefunction"'));
    expect(delivered).toHaveLength(13);
    here.close();
    expect((await settled).filter(({ status }) => status === "fulfilled")).toHaveLength(7);
  });

  it("that refused a call before it ran does not end it: the call goes to another worker, once", async () => {
    const there = await a.connectWorker();
    there.serve("f", () => "there");
    await cluster.exchange();
    // The call and the withdrawal cross.
    const call = b.call("f", null);
    const here = await b.connectWorker();
    here.serve("f", () => "here");
    there.close();
    expect(await call).toBe("here");
    const gone = await a.connectWorker();
    gone.serve("g", () => "never");
    await cluster.exchange();
    const refused = b.call("g", null);
    gone.close();
    await expect(refused).rejects.toMatchObject({ code: "function_not_found", executed: "no" });
  });

  it("gives all answers of calls that run at once, also more than it may send ahead", async () => {
    const worker = await a.connectWorker();
    const take = await holdCalls(worker, "f");
    const calls = Array.from({ length: 20 }, () => b.call("f", null));
    const frames = await Promise.all(calls.map(take));
    for (const frame of frames) worker.say(resultOf(frame, "x".repeat(1_500_000)));
    await cluster.exchange();
    for (const answer of await Promise.all(calls)) expect(answer).toHaveLength(1_500_000);
  });

  it("drops large answers when too many wait for it, and says that the function has run", async () => {
    const worker = await a.connectWorker();
    const take = await holdCalls(worker, "f");
    const calls = Array.from({ length: 6 }, () => b.call("f", null).catch((error: unknown) => error));
    const frames = await Promise.all(calls.map(take));
    // All in one turn, so that nothing is sent in between.
    for (const frame of frames) worker.say(resultOf(frame, "x".repeat(15_000_000)));
    await cluster.exchange();
    const answers = await Promise.all(calls);
    // 32 MiB may wait.
    expect(answers.slice(0, 2).map((answer) => typeof answer)).toEqual(["string", "string"]);
    expect(answers.slice(2)).toMatchObject(new Array(4).fill({ code: "overloaded", executed: "yes" }));
  });

  it("that accepted a large call and could not run it fails it: its payload is not kept", async () => {
    const there = await a.connectWorker();
    there.say({ type: "registerfunction", id: "f" });
    await cluster.exchange();
    there.stall();
    // Only calls behind the first frame certainly never left the engine.
    const calls = ["first", "small", "x".repeat(10_000)].map((data) => b.call("f", data));
    const settled = Promise.allSettled(calls);
    await cluster.exchange();
    const here = await b.connectWorker();
    here.serve("f", (data) => data);
    await cluster.exchange();
    there.close();
    expect(await settled).toMatchObject([
      { reason: { code: "invocation_stopped", executed: "unknown" } },
      { value: "small" },
      { reason: { code: "invocation_stopped", executed: "no" } },
    ]);
  });

  it("is the last one that a call goes to after another one refused it", async () => {
    const { registry, router } = a.kernel;
    const asked: string[] = [];
    for (const run of ["x", "y", "z"]) {
      const provider: Provider = {
        ...{ workerId: run, name: run, builtIn: false, principal: TRUSTED, inFlight: 0, isStandby: false },
        remote: { run, name: run, isDraining: false, load: 0 },
        refusal: () => undefined,
        deliver(call) {
          asked.push(run);
          // Without an end the test would never fail.
          if (asked.length < 10)
            queueMicrotask(() => router.refused(call, new CallError("worker_overloaded", `${run} is busy`)));
          return undefined;
        },
        withdraw: () => {},
        release: () => {},
      };
      registry.register("f" as FunctionId, provider, {
        ...{ description: undefined, requestFormat: undefined, responseFormat: undefined, metadata: undefined },
        ...{ timeoutMs: undefined, check: undefined },
      });
    }
    await expect(a.call("f", null)).rejects.toMatchObject({ code: "worker_overloaded", message: "y is busy" });
    expect(asked).toEqual(["x", "y"]);
  });

  it("gets no calls that another node passed on", async () => {
    const there = await a.connectWorker();
    there.serve("f", () => "there");
    const between = await b.connectWorker();
    between.serve("f", () => "between");
    // `b` knows the others, which do not know each other.
    const runOfB = b.kernel.identity.instanceId;
    cluster.network.partition((one, other) => one !== runOfB && other !== runOfB);
    const c = await cluster.start("c");
    await cluster.advance(1_000);
    expect(c.directory.functionById("f")?.workers).toEqual([{ id: between.id, name: "worker", node: "b" }]);
    // The call and the withdrawal cross.
    const call = c.call("f", null);
    between.close();
    await expect(call).rejects.toMatchObject({ code: "function_not_found", executed: "no" });
  });

  it("is found by its id at every node, with what it has registered now", async () => {
    const worker = await a.connectWorker({ name: "w" });
    worker.serve("g", () => null);
    worker.serve("f", () => null);
    await cluster.exchange();
    expect(b.directory.workerById(worker.id)).toMatchObject({ name: "w", node: "a", functions: ["f", "g"] });
    expect(b.directory.workers()).toEqual([b.directory.workerById(worker.id)]);
    worker.say({ type: "unregisterfunction", id: "g" });
    await cluster.exchange();
    expect(b.directory.workerById(worker.id)).toMatchObject({ functions: ["f"], function_count: 1 });
    worker.close();
    await cluster.exchange();
    expect(b.directory.workerById(worker.id)).toBeUndefined();
    expect(b.directory.workerById("unknown")).toBeUndefined();
  });

  it("of a restricted connection is seen by its own node only", async () => {
    const restricted = await a.connectWorker({ access: accessTo(["**"], { prefix: "acme" }) });
    restricted.serve("f", () => "restricted");
    await cluster.exchange();
    expect(a.directory.functionById("acme::f")).toBeDefined();
    expect(b.directory.functionById("acme::f")).toBeUndefined();
    expect(b.directory.workers()).toEqual([]);
  });

  it("takes its functions from restricted connections of other nodes, as at its own", async () => {
    const restricted = await b.connectWorker({ access: accessTo(["**"]) });
    restricted.serve("f", () => "restricted");
    await cluster.exchange();
    expect(await b.call("f", null)).toBe("restricted");
    const trusted = await a.connectWorker();
    trusted.serve("f", () => "trusted");
    await cluster.exchange();
    expect(await b.call("f", null)).toBe("trusted");
    expect(await restricted.next(({ type }) => type === "error")).toMatchObject({
      error: { code: "registration_refused" },
    });
  });
});

describe("a node that goes", () => {
  it("fails calls in flight with invocation_stopped, and takes its functions along", async () => {
    const worker = await a.connectWorker();
    const take = await holdCalls(worker, "f");
    const call = b.call("f", null);
    call.catch(() => {});
    await take();
    cluster.kill(a);
    await cluster.advance(2_800);
    expect(b.directory.functionById("f")).toBeDefined();
    await cluster.advance(500);
    await expect(call).rejects.toMatchObject({
      code: "invocation_stopped",
      executed: "unknown",
      details: { node: "a", function_id: "f" },
    });
    expect(b.directory.functionById("f")).toBeUndefined();
    expect(b.directory.workers()).toEqual([]);
  });

  it("has not run a call that certainly was never sent to it", async () => {
    const worker = await a.connectWorker();
    await holdCalls(worker, "f");
    cluster.kill(a);
    // The first one leaves no room in the window for the beginning of the second one.
    const large = "x".repeat(16 * 1024 * 1024 - 300 * 1024);
    const sent = b.call("f", large);
    const unsent = b.call("f", "x".repeat(1024 * 1024));
    for (const call of [sent, unsent]) call.catch(() => {});
    await cluster.exchange();
    await expect(b.call("f", large)).rejects.toMatchObject({ code: "worker_overloaded" });
    await cluster.advance(4_500);
    await expect(sent).rejects.toMatchObject({ code: "invocation_stopped", executed: "unknown" });
    await expect(unsent).rejects.toMatchObject({ code: "invocation_stopped", executed: "no" });
  });

  it("cancels the calls that it made", async () => {
    const worker = await a.connectWorker();
    const take = await holdCalls(worker, "f");
    void b.call("f", null).catch(() => {});
    await take();
    cluster.kill(b);
    await cluster.advance(4_500);
    await worker.next(({ type }) => type === "cancelinvocation");
    expect(a.kernel.router.counts.inFlight).toBe(0);
  });

  it("gets no new calls while it drains, and finishes those in flight", async () => {
    const worker = await a.connectWorker();
    const take = await holdCalls(worker, "f");
    const call = b.call("f", null);
    const frame = await take();
    a.startDraining();
    void a.kernel.router.drain(0);
    await cluster.exchange();
    expect(b.directory.functionById("f")?.status).toBe("draining");
    await expect(b.call("f", null)).rejects.toMatchObject({ code: "draining" });
    worker.say(resultOf(frame, "done"));
    expect(await call).toBe("done");
    await a.stop();
    await cluster.exchange();
    expect(b.directory.functionById("f")).toBeUndefined();
  });
});

/** A module with a trigger type. `bound` has the bindings by function. */
function bells(onEveryNode: boolean): {
  readonly module: Module;
  readonly bound: Map<string, TriggerBinding<unknown>>;
} {
  const bound = new Map<string, TriggerBinding<unknown>>();
  const module = defineModule({
    name: "bells",
    summary: "Rings",
    config: z.looseObject({}),
    start({ provideTrigger }) {
      provideTrigger({
        type: "bell",
        summary: "Rings",
        settings: z.object({ tone: z.string() }),
        onEveryNode,
        bind(binding) {
          bound.set(binding.functionId, binding);
          return () => bound.delete(binding.functionId);
        },
      });
      return { stop: () => {} };
    },
  });
  return { module, bound };
}

const ring = { type: "registertrigger", trigger_type: "bell", function_id: "ring", config: { tone: "c" } };

describe("triggers", () => {
  it("of a type that works on every node are bound at each, once for equal ones of several nodes", async () => {
    const one = bells(true);
    const other = bells(true);
    const c = await cluster.start("c", { modules: [one.module] });
    const d = await cluster.start("d", { modules: [other.module] });
    const worker = await c.connectWorker();
    worker.serve("ring", () => "rung at c");
    worker.say({ ...ring, id: randomUUID() });
    await cluster.exchange();
    expect((await other.bound.get("ring")?.fire(Payload.null))?.value()).toBe("rung at c");
    expect([one.bound.get("ring")?.isElsewhere, other.bound.get("ring")?.isElsewhere]).toEqual([false, true]);
    const second = await d.connectWorker();
    second.say({ ...ring, id: randomUUID() });
    await cluster.exchange();
    expect([d.directory.triggers().length, other.bound.get("ring")?.isElsewhere]).toEqual([1, false]);
    second.close();
    await cluster.exchange();
    expect(other.bound.get("ring")?.isElsewhere).toBe(true);
  });

  it("that two nodes have with different metadata are not sent to and fro", async () => {
    const c = await cluster.start("c", { modules: [bells(true).module] });
    const d = await cluster.start("d", { modules: [bells(true).module] });
    for (const [name, engine] of Object.entries({ c, d })) {
      const worker = await engine.connectWorker();
      worker.say({ ...ring, id: randomUUID(), metadata: { name } });
    }
    await cluster.exchange();
    await cluster.advance(200);
    let messages = 0;
    cluster.network.faults.copies = () => {
      messages++;
      return 1;
    };
    await cluster.exchange();
    expect(messages).toBe(0);
  });

  it("are kept for 60 s when their worker or its node is gone, and removed at once when they are unregistered", async () => {
    const there = bells(true);
    const here = bells(true);
    const c = await cluster.start("c", { modules: [there.module] });
    await cluster.start("d", { modules: [here.module] });
    const id = randomUUID();
    const worker = await c.connectWorker();
    worker.say({ ...ring, id });
    await cluster.exchange();
    worker.say({ type: "unregistertrigger", id });
    await cluster.exchange();
    expect(here.bound.size).toBe(0);
    worker.say({ ...ring, id });
    await cluster.exchange();
    worker.close();
    await cluster.exchange();
    expect(here.bound.get("ring")?.isAway).toBe(true);
    const back = await c.connectWorker();
    back.say({ ...ring, id });
    await cluster.exchange();
    expect(here.bound.get("ring")?.isAway).toBe(false);
    cluster.kill(c);
    await cluster.advance(5_000);
    expect(here.bound.get("ring")?.isAway).toBe(true);
    await cluster.advance(61_000);
    expect(here.bound.size).toBe(0);
  });

  it("of other types are bound at their worker's node only", async () => {
    const there = bells(false);
    const here = bells(false);
    const c = await cluster.start("c", { modules: [there.module] });
    await cluster.start("d", { modules: [here.module] });
    const worker = await c.connectWorker();
    worker.say({ ...ring, id: randomUUID() });
    await cluster.exchange();
    expect([there.bound.size, here.bound.size]).toEqual([1, 0]);
  });

  it("of a type that a worker of another node provides are passed to that worker, which accepts or refuses them", async () => {
    const provider = await a.connectWorker({ name: "provider" });
    provider.say({ type: "registertriggertype", id: "mine", description: "Mine" });
    await cluster.exchange();
    expect(b.directory.triggerTypes()).toMatchObject([{ id: "mine", worker_name: "provider" }]);
    const user = await b.connectWorker();
    const id = randomUUID();
    user.say({ type: "registertrigger", id, trigger_type: "mine", function_id: "f", config: { n: 1 } });
    user.serve("f", () => "called");
    const passed = await provider.next(({ type }) => type === "registertrigger");
    expect(passed).toMatchObject({ trigger_type: "mine", function_id: "f", config: { n: 1 } });
    provider.say({ type: "triggerregistrationresult", id: passed.id, trigger_type: "mine", function_id: "f" });
    expect(await user.next(({ type }) => type === "triggerregistrationresult")).toMatchObject({ id, status: "active" });
    expect((await provider.call("f", null)).result).toBe("called");
    user.say({ type: "unregistertrigger", id });
    await provider.next(({ type, id: ended }) => type === "unregistertrigger" && ended === passed.id);

    const bad = randomUUID();
    user.say({ type: "registertrigger", id: bad, trigger_type: "mine", function_id: "f", config: { n: 2 } });
    const refused = await provider.next(({ type }) => type === "registertrigger");
    const error = { code: "trigger_registration_failed", message: "not 2" };
    provider.say({ type: "triggerregistrationresult", id: refused.id, trigger_type: "mine", function_id: "f", error });
    expect(await user.next(({ type }) => type === "triggerregistrationresult")).toMatchObject({
      id: bad,
      error: { code: "trigger_registration_failed", message: "not 2" },
    });
  });

  it("of restricted connections are refused by the types of other nodes' workers", async () => {
    const provider = await a.connectWorker();
    provider.say({ type: "registertriggertype", id: "mine", description: "Mine" });
    await cluster.exchange();
    const restricted = await b.connectWorker({ access: accessTo(["**"], { prefix: "acme" }) });
    restricted.serve("f", () => 1);
    restricted.say({ type: "registertrigger", id: randomUUID(), trigger_type: "mine", function_id: "f", config: {} });
    expect(await restricted.next(({ type }) => type === "triggerregistrationresult")).toMatchObject({
      error: { message: expect.stringContaining("a worker of another node provides the trigger type mine") },
    });
  });

  it("are served by a worker of this node before one of another", async () => {
    const far = await a.connectWorker({ name: "far" });
    const near = await b.connectWorker({ name: "near" });
    near.say({ type: "registertriggertype", id: "mine", description: "Mine" });
    await cluster.exchange();
    far.say({ type: "registertriggertype", id: "mine", description: "Mine" });
    await cluster.exchange();
    const user = await b.connectWorker();
    user.say({ type: "registertrigger", id: randomUUID(), trigger_type: "mine", function_id: "f", config: {} });
    await near.next(({ type }) => type === "registertrigger");
    await cluster.exchange();
    expect(far.received.filter((frame) => frame.includes('"registertrigger"'))).toEqual([]);
    near.close();
    await far.next(({ type }) => type === "registertrigger");
  });
});

describe("channels", () => {
  let ends: ReturnType<InMemoryEngine["kernel"]["channels"]["create"]>;
  beforeEach(() => {
    ends = a.kernel.channels.create();
  });

  it("carry items from one node to another, in order and with backpressure, until they end", async () => {
    const writer = a.takeWriter(ends.ref("write"));
    const reader = b.takeReader(ends.ref("read"));
    const sent = Array.from({ length: 2_000 }, (_, at) => `${at} ${"x".repeat(1_000)}`);
    let written = 0;
    const writing = (async () => {
      for (const text of sent) {
        await writer.write({ kind: "text", text });
        written++;
      }
      writer.end();
    })();
    await cluster.exchange();
    await cluster.exchange();
    expect(written).toBeLessThan(1_000);
    const received: unknown[] = [];
    for (let item = await reader.read(); item !== undefined; item = await reader.read())
      received.push(item.kind === "text" ? item.text : item.bytes);
    await writing;
    expect(received).toEqual(sent);
    expect(reader.ended).toBe("finished");
    expect([a.kernel.channels.size, b.kernel.channels.size]).toEqual([0, 0]);
  });

  it("can be written at another node", async () => {
    const reader = a.takeReader(ends.ref("read"));
    const writer = b.takeWriter(ends.ref("write"));
    await writer.write({ kind: "binary", bytes: Buffer.from([1, 2, 255]) });
    writer.abort("broken");
    expect(await reader.read()).toEqual({ kind: "binary", bytes: Buffer.from([1, 2, 255]) });
    expect(await reader.read()).toBeUndefined();
    expect(reader.ended).toBe("aborted");
  });

  it("tell the writer that the reader at another node has left", async () => {
    const writer = a.takeWriter(ends.ref("write"));
    const reader = b.takeReader(ends.ref("read"));
    await cluster.exchange();
    const closed = new Promise<void>((resolve) => writer.onClosed(resolve));
    reader.cancel();
    await closed;
    expect(await writer.write({ kind: "text", text: "x" })).toBe(false);
  });

  it("that do not exist, or whose end is taken, end at once", async () => {
    a.takeReader(ends.ref("read"));
    const taken = b.takeReader(ends.ref("read"));
    expect([await taken.read(), taken.ended]).toEqual([undefined, "aborted"]);
    const wrong = b.takeReader({ ...ends.ref("read"), access_key: randomUUID() });
    expect([await wrong.read(), wrong.ended]).toEqual([undefined, "aborted"]);
    expect(() => b.takeReader({ ...ends.ref("read"), channel_id: randomUUID() })).toThrow("there is no channel");
  });

  it("are aborted when the node of the other end is gone", async () => {
    a.takeWriter(ends.ref("write"));
    const reader = b.takeReader(ends.ref("read"));
    const read = reader.read();
    cluster.kill(a);
    await cluster.advance(4_500);
    expect([await read, reader.ended]).toEqual([undefined, "aborted"]);
  });
});

describe("a hostile peer", () => {
  const id = "0b8e5c1c-6f0a-4d6e-9a51-3c7d3f2b1a00" as InvocationId;
  const call: NodeFrame = { type: "call", id, function_id: "f" as FunctionId, timeout_ms: 1_000 };
  const functionEntry = { kind: "function", worker_id: "w", id: "g" };
  const open: NodeFrame = { type: "open", channel: 1, channel_id: "", access_key: "", direction: "write" };
  let stranger: Stranger;

  beforeEach(async () => {
    stranger = new Stranger(cluster.network.connect());
    stranger.introduce(a.kernel.identity.instanceId);
    await cluster.exchange();
  });

  async function send(frame: NodeFrame, payload: unknown = undefined): Promise<void> {
    const bytes = payload === undefined ? undefined : Buffer.from(JSON.stringify(payload));
    stranger.send(a.kernel.identity.instanceId, [encodeNodeFrame(frame, bytes)]);
    await cluster.exchange();
  }

  const isPeer = (): boolean => a.kernel.nodes?.hasPeer(stranger.run) === true;
  /** Both sides of a pair of runs take other numbers for their channels. */
  const ownNumber = (): number => (stranger.run < a.kernel.identity.instanceId ? 1 : 2);

  it("is cut off when it sends a malformed mirror, and what it registered is gone", async () => {
    await send({ type: "mirror" }, { set: [{ key: "k", entry: functionEntry }], removed: [] });
    expect(a.directory.functionById("g")).toBeDefined();
    await send({ type: "mirror" }, { set: [{ key: "l", entry: { ...functionEntry, id: "" } }], removed: [] });
    expect([isPeer(), a.directory.functionById("g")]).toEqual([false, undefined]);
  });

  it("is cut off when it repeats a call in flight, which is cancelled", async () => {
    const worker = await a.connectWorker();
    await holdCalls(worker, "f");
    await send(call, 1);
    await send(call, 1);
    expect([isPeer(), a.kernel.router.counts]).toMatchObject([false, { inFlight: 0, cancelled: 1 }]);
  });

  it("cannot settle calls that it was not given", async () => {
    const worker = await a.connectWorker();
    const take = await holdCalls(worker, "f");
    const pending = b.call("f", null);
    const frame = await take();
    await send({ type: "answer", id: String(frame.invocation_id) as InvocationId, outcome: "ok" }, "forged");
    worker.say(resultOf(frame, "real"));
    expect(await pending).toBe("real");
    expect(isPeer()).toBe(true);
  });

  it("is cut off when it sends more items of a channel than it was permitted", async () => {
    const channel = a.kernel.channels.create();
    const { channel_id, access_key } = channel.ref("write");
    const number = ownNumber();
    await send({ ...open, channel: number, channel_id, access_key } as NodeFrame);
    const item: NodeFrame = { type: "item", channel: number, kind: "text" };
    // The third one fills the channel, so that nothing more is permitted until somebody reads.
    for (const length of [300_000, 450_000, 450_000]) await send(item, "x".repeat(length));
    expect(isPeer()).toBe(true);
    await send(item, "x");
    expect(isPeer()).toBe(false);
  });

  it("cannot open a channel under a number of the other side", async () => {
    await send({ ...open, channel: 3 - ownNumber() } as NodeFrame);
    expect(isPeer()).toBe(false);
  });
});
