import { connect, type HttpFunction, type Worker } from "@svc-runtime/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeEngine } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";

let engine: FakeEngine;
let worker: Worker;

beforeEach(async () => {
  engine = await FakeEngine.start();
  worker = connect(`ws://127.0.0.1:${engine.port}`, { logger: silentLogger, handleSignals: false });
});

afterEach(async () => {
  await worker.shutdown();
  await engine.stop();
});

describe("a function that is called over HTTP", () => {
  it("is registered with its url and settings", async () => {
    const invocation: HttpFunction = {
      url: "https://pay.example/charge",
      method: "PUT",
      timeoutMs: 5_000,
      headers: { "X-Team": "a" },
      auth: { type: "hmac", secretKey: "PAY_SECRET" },
      retry: { statuses: [503], idempotent: true },
    };
    worker.registerFunction("pay::charge", invocation, {
      description: "Charges a card",
      requestFormat: { type: "object" },
    });
    expect(await engine.frame({ type: "registerfunction", id: "pay::charge" })).toEqual({
      type: "registerfunction",
      id: "pay::charge",
      description: "Charges a card",
      request_format: { type: "object" },
      invocation: {
        url: "https://pay.example/charge",
        method: "PUT",
        timeout_ms: 5_000,
        headers: { "X-Team": "a" },
        auth: { type: "hmac", secret_key: "PAY_SECRET" },
        retry: { statuses: [503], idempotent: true },
      },
    });
  });

  it("cannot be called inside the worker", async () => {
    worker.registerFunction("f", { url: "https://a.example/" });
    await engine.frame({ type: "registerfunction", id: "f" });
    engine.sockets[0]?.send(
      JSON.stringify({ type: "invokefunction", invocation_id: crypto.randomUUID(), function_id: "f", data: null }),
    );
    expect(await engine.frame({ type: "invocationresult", function_id: "f" })).toMatchObject({
      error: { code: "function_not_invokable" },
    });
  });

  it("can be unregistered and registered again", async () => {
    const registration = worker.registerFunction("f", { url: "https://a.example/" });
    await engine.frame({ type: "registerfunction", id: "f" });
    registration.unregister();
    await engine.frame({ type: "unregisterfunction", id: "f" });
    worker.registerFunction("f", () => 1);
  });

  it.each([
    [undefined],
    [null],
    [{}],
    [{ url: 7 }],
    [{ url: "a.example" }],
    [{ url: "ftp://a.example/" }],
    [{ url: "https://a.example/", timeoutMs: 0 }],
    [{ url: "https://a.example/", retries: 2 }],
    [{ url: "https://a.example/", auth: { type: "hmac", secret: "A" } }],
  ])("is rejected at registration if it is %j", (value) => {
    expect(() => worker.registerFunction("f", value as never)).toThrow(TypeError);
  });
});
