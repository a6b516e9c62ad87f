import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { type ClientError, ClientFailure, type ClientProcess, publishedClients } from "./support/published-client.ts";
import { offer, settled, workshop } from "./support/workshop.ts";

// Protocol section 18, statements 9 to 19, 21 and 22. Statement 20 is in queues.test.ts.

const { connected, raw, tap } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

/** A failed call, as its caller receives it. */
async function failureOf(call: Promise<unknown>): Promise<ClientError> {
  const failure = await call.then(
    (value) => new Error(`it answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (!(failure instanceof ClientFailure)) throw failure;
  return failure.error;
}

describe.each(publishedClients)("calls of $name", (client) => {
  const prefix = `${client.runtime}-${client.version}`;
  let a: ClientProcess;
  let b: ClientProcess;
  let bTap: Awaited<ReturnType<typeof tap>>;
  let aTap: typeof bTap;
  beforeAll(async () => {
    [aTap, bTap] = await Promise.all([tap(engine.address), tap(engine.address)]);
    [a, b] = await Promise.all([
      connected(client, aTap.address, { workerName: `${prefix}-a` }),
      connected(client, bTap.address, { workerName: `${prefix}-b` }),
    ]);
  });

  const bOffers = (name: string, behaviour: Readonly<Record<string, unknown>>): Promise<string> =>
    offer(b, `${prefix}::${name}`, behaviour);
  const called = (id: string) =>
    b.next((event) => event.event === "called" && event.function === id, `${id} is called`);
  const invocation = (of: typeof bTap, from: "client" | "engine", type: string, id: string) =>
    of.frame(
      (frame) => frame.from === from && frame.json?.type === type && frame.json.function_id === id,
      `${type} of ${id} from the ${from}`,
    );

  it("statement 9: an unknown id with an invocation id fails with function_not_found and the published text", async () => {
    const error = await failureOf(a.run("trigger", { function_id: "no::such", payload: {} }));
    expect(error).toMatchObject({
      code: "function_not_found",
      message: "function_not_found: Function no::such not found",
    });
    const { json } = await invocation(aTap, "engine", "invocationresult", "no::such");
    expect(json).toMatchObject({ error: { code: "function_not_found", message: "Function no::such not found" } });
  });

  it("statement 10: no frame comes back for a void call, known or not", async () => {
    const id = await bOffers("void", { kind: "value", value: { ran: true } });
    const before = aTap.frames.length;
    await a.run("trigger", { function_id: "no::such-void", payload: {}, action: { type: "void" } });
    await a.run("trigger", { function_id: id, payload: { a: 1 }, action: { type: "void" } });
    expect((await called(id)).data).toEqual({ a: 1 });
    // An answered call follows: any effect of the void calls would arrive before its answer.
    await invocation(bTap, "client", "invocationresult", id);
    await settled(a);
    const came = aTap.frames.slice(before).filter((frame) => frame.from === "engine");
    expect(came.map((frame) => frame.json?.function_id)).toEqual(["engine::functions::list"]);
  });

  it("statement 11: the callee receives the caller's data and invocation id (the svc engine adds nothing to the data)", async () => {
    const id = await bOffers("data", { kind: "echo" });
    const answer = await a.run("trigger", { function_id: id, payload: { a: 1 } });
    expect(answer).toEqual({ a: 1 });
    const sent = await invocation(aTap, "client", "invokefunction", id);
    const received = await invocation(bTap, "engine", "invokefunction", id);
    expect(received.json?.data).toEqual({ a: 1 });
    expect(received.json?.invocation_id).toBe(sent.json?.invocation_id);
    // No member of svc's own reaches a published client.
    const published = ["type", "invocation_id", "function_id", "data", "traceparent", "baggage", "metadata"];
    expect(published).toEqual(expect.arrayContaining(Object.keys(received.json ?? {})));
  });

  it.each([[["x", 2, null]], ["text with \u0000 and 💡"], [17.5], [true], [{ deep: [{ a: { b: ["ü"] } }] }]])(
    "statement 12: data that is not an object, or lies deep, arrives unchanged: %j",
    async (payload) => {
      const id = await bOffers("echo", { kind: "echo" });
      expect(await a.run("trigger", { function_id: id, payload })).toEqual(payload);
      expect((await called(id)).data).toEqual(payload);
      await b.run("unregisterFunction", { id });
    },
  );

  it("statement 13: a handler that throws rejects the call with invocation_failed, its message and a stack trace", async () => {
    const id = await bOffers("boom", { kind: "fail", message: "boom" });
    const error = await failureOf(a.run("trigger", { function_id: id, payload: {} }));
    expect(error).toMatchObject({ code: "invocation_failed", message: "invocation_failed: boom" });
    const { json } = await invocation(aTap, "engine", "invocationresult", id);
    expect(json).toMatchObject({
      error: { code: "invocation_failed", message: "boom", stacktrace: expect.stringContaining("boom") },
    });
  });

  it("statement 14: a handler that returns nothing sends neither result nor error, and the call resolves with nothing", async () => {
    const id = await bOffers("nothing", { kind: "nothing" });
    expect(await a.run("trigger", { function_id: id, payload: {} })).toBeUndefined();
    const { json } = await invocation(bTap, "client", "invocationresult", id);
    expect(Object.keys(json ?? {})).not.toContain("result");
    expect(Object.keys(json ?? {})).not.toContain("error");
    const answer = await invocation(aTap, "engine", "invocationresult", id);
    expect(Object.keys(answer.json ?? {})).not.toContain("error");
  });

  it("statement 15: a callee that dies during the call ends it with invocation_stopped", async () => {
    const doomed = await connected(client, engine.address, { workerName: `${prefix}-doomed` });
    const id = `${prefix}::doomed`;
    await offer(doomed, id, { kind: "hold" });
    const call = failureOf(a.run("trigger", { function_id: id, payload: {} }));
    await doomed.next(({ event }) => event === "called", "the call arrives");
    await doomed.kill();
    expect(await call).toMatchObject({ code: "invocation_stopped", message: "invocation_stopped: Invocation stopped" });
  });

  it("statements 16 and 17: a call that times out at the caller sends nothing, and the late answer is ignored", async () => {
    const id = await bOffers("late", { kind: "hold", value: "late" });
    const call = failureOf(a.run("trigger", { function_id: id, payload: {}, timeoutMs: 100 }));
    await called(id);
    const error = await call;
    expect(error).toMatchObject({ code: "TIMEOUT", message: "TIMEOUT: invocation timed out after 100ms" });
    const sent = aTap.frames.filter((frame) => frame.from === "client").length;
    await b.run("release", { id });
    await invocation(bTap, "client", "invocationresult", id);
    await invocation(aTap, "engine", "invocationresult", id);
    expect(aTap.frames.filter((frame) => frame.from === "client")).toHaveLength(sent);
    expect(
      await a.run("trigger", { function_id: await bOffers("after-late", { kind: "value", value: 1 }), payload: {} }),
    ).toBe(1);
    expect(engine.logged("error")).toEqual([]);
    expect(engine.logged("warn")).toEqual([]);
  });

  it("statements 18 and 19: two workers share an id, calls of one that disconnects go to the other, and only without both it is not found", async () => {
    const id = `${prefix}::shared`;
    const workers = await Promise.all(
      [1, 2].map((n) => connected(client, engine.address, { workerName: `${prefix}-shared-${n}` })),
    );
    for (const [at, worker] of workers.entries()) {
      await offer(worker, id, { kind: "value", value: at });
    }
    const ask = (): Promise<number> => a.run("trigger", { function_id: id, payload: {} });
    const answers = [];
    for (let n = 0; n < 20; n++) answers.push(await ask());
    expect(new Set(answers)).toEqual(new Set([0, 1]));
    const [earlier, later] = workers as [ClientProcess, ClientProcess];
    await earlier.kill();
    // A call in flight to the disconnected worker may fail. None fails after the engine has detected it.
    await expect
      .poll(() => engine.workers().then((names) => names.includes(`${prefix}-shared-1`)), { timeout: 30_000 })
      .toBe(false);
    for (let n = 0; n < 5; n++) expect(await ask()).toBe(1);
    await later.run("unregisterFunction", { id });
    await settled(later);
    expect(await failureOf(ask())).toMatchObject({ code: "function_not_found" });
  });

  it("statement 21: without a queue, enqueue fails with enqueue_error", async () => {
    const id = await bOffers("queued", { kind: "nothing" });
    const error = await failureOf(
      a.run("trigger", { function_id: id, payload: {}, action: { type: "enqueue", queue: "default" } }),
    );
    expect(error).toMatchObject({
      code: "enqueue_error",
      message: expect.stringMatching(/^enqueue_error: .*svc-queue/),
    });
  });

  it("calls itself and receives its own answer", async () => {
    const id = await bOffers("self", { kind: "echo" });
    expect(await b.run("trigger", { function_id: id, payload: { own: true } })).toEqual({ own: true });
  });

  it("replaces a function by registering it again, and unregisters it", async () => {
    const id = await bOffers("replaced", { kind: "value", value: "first" });
    await b.run("unregisterFunction", { id });
    await bOffers("replaced", { kind: "value", value: "second" });
    expect(await a.run("trigger", { function_id: id, payload: {} })).toBe("second");
    await b.run("unregisterFunction", { id });
    await settled(b);
    expect(await failureOf(a.run("trigger", { function_id: id, payload: {} }))).toMatchObject({
      code: "function_not_found",
    });
  });

  it("calls without a payload, which sends no data, and the function receives nothing", async () => {
    const id = await bOffers("no-data", { kind: "value", value: "answered" });
    expect(await a.run("trigger", { function_id: id, payload: undefined })).toBe("answered");
    expect((await called(id)).data ?? null).toBeNull();
  });

  it(
    client.isLater
      ? "carries a call's metadata to the handler's second argument"
      : "is called without a second argument, whatever metadata the caller gave",
    async () => {
      const id = await bOffers("metadata", { kind: "echo" });
      const { call } = await raw(engine.address);
      await call(id, { data: { a: 1 }, metadata: { tenant: "t1" } });
      const event = await called(id);
      expect(event.data).toEqual({ a: 1 });
      if (client.isLater) expect(event.metadata).toEqual({ tenant: "t1" });
      else expect(event.metadata).toBeUndefined();
    },
  );
});

describe("calls between the published clients", () => {
  it("work between each pair, many concurrently", async () => {
    const workers = await Promise.all(
      publishedClients.map((client) => connected(client, engine.address, { workerName: `mixed ${client.name}` })),
    );
    await Promise.all(
      workers.map(async (worker, at) => {
        await offer(worker, `mixed::${at}`, { kind: "echo" });
      }),
    );
    await Promise.all(
      workers.flatMap((worker, from) =>
        workers.flatMap((_, to) =>
          Array.from({ length: 20 }, async (_unused, n) => {
            const payload = { from, to, n, text: "ü".repeat(n * 100) };
            expect(await worker.run("trigger", { function_id: `mixed::${to}`, payload })).toEqual(payload);
          }),
        ),
      ),
    );
  });

  it("carry metadata from an iii-sdk 0.22.1 caller to an iii-sdk 0.22.1 callee", async () => {
    const [, later] = publishedClients;
    const [caller, callee] = await Promise.all([connected(later, engine.address), connected(later, engine.address)]);
    await offer(callee, "later::metadata", { kind: "echo" });
    await caller.run("trigger", { function_id: "later::metadata", payload: {}, metadata: { trace: ["a"] } });
    expect(await callee.next(({ event }) => event === "called", "the call")).toMatchObject({
      arguments: 2,
      metadata: { trace: ["a"] },
    });
  });
});

describe("frames that cannot be read", () => {
  it.each([
    ["an unknown type", JSON.stringify({ type: "somethingnew", of: 1 })],
    ["no JSON", "not json"],
    ["no type", "{}"],
    ["an array", "[1]"],
    ["a missing id", JSON.stringify({ type: "registerfunction" })],
    [
      "an id of the wrong type",
      JSON.stringify({ type: "registertrigger", id: 1, trigger_type: "http", function_id: "a" }),
    ],
    [
      "an invocation id that is no UUID",
      JSON.stringify({ type: "invokefunction", invocation_id: "x", function_id: "a", data: {} }),
    ],
    [
      "an action of no known shape",
      JSON.stringify({ type: "invokefunction", function_id: "a", data: {}, action: { type: "later" } }),
    ],
    ["blanks", "  \n"],
    [
      "registerservice, of the earlier clients",
      JSON.stringify({ type: "registerservice", id: "s", name: "s", description: "d" }),
    ],
    [
      "registerservice with stray keys",
      JSON.stringify({
        type: "registerservice",
        id: "s",
        name: "",
        parent_service_id: "p",
        message_type: "registerservice",
      }),
    ],
    ["pong", JSON.stringify({ type: "pong" })],
  ])("statement 22: after %s the connection stays open and later frames work", async (_what, frame) => {
    const worker = await raw(engine.address);
    worker.say(frame);
    worker.say({ type: "registerfunction", id: "raw::after", message_type: "registerfunction" });
    const answer = worker.call("raw::after", { data: { a: 1 } });
    const invoked = await worker.next(({ type }) => type === "invokefunction", "the call");
    worker.say({
      type: "invocationresult",
      invocation_id: invoked.invocation_id,
      function_id: "raw::after",
      result: invoked.data,
    });
    expect((await answer).result).toEqual({ a: 1 });
    worker.close();
  });

  it("are JSON frames too if they are binary", async () => {
    const worker = await raw(engine.address);
    worker.sayBytes({ type: "ping" });
    await worker.next(({ type }) => type === "pong", "the pong");
  });
});
