import { CallError } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeEngine } from "../fake-engine.test.support.ts";
import { createLogger, jsonLine, type LogRecord } from "../logger.ts";
import { connect, type Worker } from "../node.ts";

const REMOTE_STACK = "TypeError: no such order\n    at load (/srv/orders/load.ts:7:3)";

let engine: FakeEngine;
let worker: Worker;
let records: LogRecord[];

beforeEach(async () => {
  records = [];
  engine = await FakeEngine.start();
  engine.reply = ({ type, invocation_id, function_id }) =>
    type === "invokefunction" && function_id === "orders::load"
      ? {
          type: "invocationresult",
          invocation_id,
          function_id,
          error: { code: "invocation_failed", message: "TypeError: no such order", stacktrace: REMOTE_STACK },
        }
      : undefined;
  worker = connect(engine.address, {
    name: "probe",
    handleSignals: false,
    telemetry: false,
    logger: createLogger({ write: (record) => records.push(record) }),
  });
  await worker.connected();
  records = [];
});

afterEach(async () => {
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
});

async function failure(promise: Promise<unknown>): Promise<CallError> {
  return promise.then(
    () => expect.unreachable("the call must fail"),
    (error: unknown) => error as CallError,
  );
}

async function loadOrder(): Promise<unknown> {
  await Promise.resolve();
  return await worker.call({ function_id: "orders::load" });
}

async function loadTwice(): Promise<unknown> {
  return await loadOrder();
}

describe("the error of a failed call", () => {
  it("has its code and message, then the caller and the functions that await it, in its stack", async () => {
    const { stack = "", message } = await failure(loadTwice());
    expect(stack.split("\n")[0]).toBe(`CallError: ${message}`);
    expect(stack).toMatch(/ at loadOrder .*call-site\.test/);
    expect(stack).toMatch(/ at async loadTwice .*call-site\.test/);
    expect(stack.split("\n")[1]).toMatch(/ at Worker\.call /);
  });

  it("has the stack of the function that failed in its cause", async () => {
    const { cause, stacktrace } = await failure(loadOrder());
    expect(stacktrace).toBe(REMOTE_STACK);
    expect(cause).toMatchObject({ name: "RemoteError", message: "TypeError: no such order", stack: REMOTE_STACK });
  });

  it("has the caller in its stack too if the engine does not answer, or the call is not awaited", async () => {
    const late = await failure(worker.call({ function_id: "silent", timeoutMs: 5 }));
    expect(late).toMatchObject({ code: "call_timeout" });
    expect(late.stack).toMatch(/call-site\.test/);
    const unawaited = await new Promise<CallError>((resolve) => {
      worker.call({ function_id: "orders::load" }).catch(resolve);
    });
    expect(unawaited.stack).toMatch(/call-site\.test/);
  });

  it("has the functions that await the call when thousands of calls are made at once", async () => {
    const flood = Array.from({ length: 2_000 }, () => failure(worker.call({ function_id: "orders::load" })));
    const { stack = "" } = await failure(loadTwice());
    await Promise.all(flood);
    // Without `async` if the flood took over a second: then the limit of captured stacks was not reached.
    expect(stack).toMatch(/ at (async )?loadOrder .*call-site\.test/);
    expect(stack).toMatch(/ at async loadTwice .*call-site\.test/);
  });

  it("has the caller of a helper's method in its stack", async () => {
    const { stack = "" } = await failure(worker.state.get("s", "k", { timeoutMs: 5 }));
    expect(stack).toMatch(/ at WorkerState\.get /);
    expect(stack).toMatch(/call-site\.test/);
  });

  it("belongs to one call, also if all calls fail together", async () => {
    const one = (): Promise<unknown> => worker.call({ function_id: "silent" });
    const other = (): Promise<unknown> => worker.call({ function_id: "silent" });
    const errors = Promise.all([failure(one()), failure(other())]);
    await engine.frame({ function_id: "silent" }, 2);
    await worker.shutdown({ timeoutMs: 1 });
    const [first, second] = await errors;
    expect(first).not.toBe(second);
    expect(first?.stack).toMatch(/ at one /);
    expect(second?.stack).toMatch(/ at other /);
  });
});

describe("the error of a call that leaves a handler", () => {
  const run = async (function_id: string): Promise<unknown> => {
    await engine.frame({ type: "registerfunction", id: function_id });
    const invocation_id = crypto.randomUUID();
    engine.send({ data: null, type: "invokefunction", invocation_id, function_id });
    return (await engine.frame({ type: "invocationresult", invocation_id })).error;
  };

  it("is logged once, with both stacks, and answered unchanged", async () => {
    worker.registerFunction("orders::show", async function showOrder() {
      return await loadOrder();
    });
    expect(await run("orders::show")).toEqual({
      code: "invocation_failed",
      message: "TypeError: no such order",
      stacktrace: REMOTE_STACK,
    });
    expect(records).toHaveLength(1);
    const line = JSON.parse(jsonLine(records[0] as LogRecord));
    expect(line).toMatchObject({
      level: "warn",
      message: "a handler failed with the error of a call that it made",
      function_id: "orders::show",
      error: { stack: expect.stringMatching(/ at loadOrder /), cause: { stack: REMOTE_STACK } },
    });
    expect(line.error.stack).toMatch(/ at async .*showOrder /);
  });

  it("says that the handler ran, whatever it says of the function that the handler called", async () => {
    engine.reply = ({ type, invocation_id, function_id }) =>
      type === "invokefunction" && function_id === "orders::load"
        ? {
            type: "invocationresult",
            invocation_id,
            function_id,
            error: { code: "overloaded", message: "no", details: { executed: "no", limit: 3 } },
          }
        : undefined;
    worker.registerFunction("orders::show", () => loadOrder());
    expect(await run("orders::show")).toMatchObject({ code: "overloaded", details: { executed: "yes", limit: 3 } });
  });

  it("is not logged if the handler throws a CallError of its own", async () => {
    worker.registerFunction("orders::find", async () => {
      const error = await failure(loadOrder());
      throw new CallError("NOT_FOUND", "no order 7", { cause: error });
    });
    expect(await run("orders::find")).toMatchObject({ code: "NOT_FOUND" });
    expect(records).toEqual([]);
  });
});

describe("what a handler answers that makes a frame over the limit", () => {
  const large = "x".repeat(17 * 1024 * 1024);

  it.each<[string, () => unknown, object]>([
    ["its result", () => large, { code: "payload_too_large", details: { executed: "yes" } }],
    [
      "its error",
      () => {
        throw new CallError("draining", "m", { details: { large } });
      },
      { code: "draining", message: "m", details: { executed: "yes" } },
    ],
    [
      "its error that says that nothing was done",
      () => {
        throw new CallError("draining", "m", { details: { large, executed: "no" } });
      },
      { code: "draining", message: "m", details: { executed: "no" } },
    ],
  ])("%s: the caller learns whether the function ran", async (_what, handler, error) => {
    worker.registerFunction("f", handler);
    await engine.frame({ type: "registerfunction", id: "f" });
    const invocation_id = crypto.randomUUID();
    engine.send({ data: null, type: "invokefunction", invocation_id, function_id: "f" });
    expect((await engine.frame({ type: "invocationresult", invocation_id })).error).toMatchObject(error);
  });
});
