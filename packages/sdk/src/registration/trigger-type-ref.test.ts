import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { FakeEngine } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";
import { connect, type TriggerResult, type Worker } from "../node.ts";

let engine: FakeEngine;
let worker: Worker;
let errors: string[];

beforeEach(async () => {
  errors = [];
  engine = await FakeEngine.start();
  worker = connect(engine.address, {
    name: "probe",
    logger: { ...silentLogger, error: (message) => errors.push(message) },
    handleSignals: false,
  });
  await worker.connected();
});

afterEach(async () => {
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
});

const nothing = { registerTrigger: () => {}, unregisterTrigger: () => {} };

describe("a trigger type with a zod format", () => {
  it("passes the schema's output to both handlers, as the same object, and rejects a config that does not match", async () => {
    const seen: unknown[] = [];
    worker.registerTriggerType(
      {
        id: "timer",
        description: "d",
        triggerRequestFormat: z.object({ every_ms: z.number(), label: z.string().default("none") }),
      },
      {
        registerTrigger: (binding) => {
          const every: number = binding.config.every_ms;
          seen.push(binding, every);
        },
        unregisterTrigger: (binding) => {
          seen.push(binding);
        },
      },
    );
    await engine.frame({ type: "registertriggertype", id: "timer" });
    const bind = (id: string, config: unknown): void =>
      engine.send({ type: "registertrigger", id, trigger_type: "timer", function_id: "f", config, metadata: 1 });
    bind("t1", { every_ms: "soon" });
    expect(await engine.frame({ type: "triggerregistrationresult", id: "t1" })).toMatchObject({
      error: {
        code: "trigger_registration_failed",
        message: expect.stringContaining("`every_ms`"),
        details: { trigger_type: "timer" },
      },
    });
    bind("t2", { every_ms: 5 });
    expect((await engine.frame({ type: "triggerregistrationresult", id: "t2" })).error).toBeUndefined();
    engine.send({ type: "unregistertrigger", id: "t2", trigger_type: "timer" });
    bind("t2", { every_ms: 6 });
    await engine.frame({ type: "triggerregistrationresult", id: "t2" }, 2);
    expect(seen.slice(0, 2)).toEqual([
      { id: "t2", triggerType: "timer", functionId: "f", config: { every_ms: 5, label: "none" }, metadata: 1 },
      5,
    ]);
    expect(seen[2]).toBe(seen[0]);
  });
});

describe("the ref of a trigger type", () => {
  it("registers triggers of its type, and functions with a trigger, and unregisters both", async () => {
    const type = worker.registerTriggerType(
      { id: "timer", description: "d", callRequestFormat: z.object({ at: z.number() }) },
      nothing,
    );
    const trigger = type.registerTrigger("f", { every_ms: 5 }, { m: 1 });
    expect(await engine.frame({ type: "registertrigger", id: trigger.id })).toMatchObject({
      trigger_type: "timer",
      function_id: "f",
      config: { every_ms: 5 },
      metadata: { m: 1 },
    });
    const both = type.registerFunction(
      "g",
      ({ at }) => at,
      { every_ms: 6 },
      { description: "g", triggerMetadata: "m" },
    );
    expect(await engine.frame({ type: "registerfunction", id: "g" })).toMatchObject({ description: "g" });
    expect(await engine.frame({ type: "registertrigger", id: both.trigger.id })).toMatchObject({
      function_id: "g",
      config: { every_ms: 6 },
      metadata: "m",
    });
    both.unregister();
    await engine.frame({ type: "unregistertrigger", id: both.trigger.id });
    await engine.frame({ type: "unregisterfunction", id: "g" });
    type.unregister();
    await engine.frame({ type: "unregistertriggertype", id: "timer" });
  });

  it("unregisters the function if its trigger cannot be registered", async () => {
    const type = worker.registerTriggerType({ id: "timer", description: "d" }, nothing);
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(() => type.registerFunction("g", () => {}, circular)).toThrow(TypeError);
    worker.registerFunction("g", () => {});
  });
});

describe("a registered trigger", () => {
  it("calls its listener for each status, until the listener is removed", async () => {
    const trigger = worker.registerTrigger({ type: "timer", function_id: "f", config: null });
    expect(trigger.status).toBeUndefined();
    const seen: (TriggerResult | string)[] = [];
    const stop = trigger.onStatus((result) => seen.push(result));
    trigger.onStatus(() => {
      throw new Error("a listener's own trouble");
    });
    const reported = (status: string, reason?: string): Promise<unknown> => {
      engine.send({
        type: "triggerregistrationresult",
        id: trigger.id,
        trigger_type: "timer",
        function_id: "f",
        status,
        reason,
      });
      engine.send({ type: "ping" });
      return engine.frame({ type: "pong" }, seen.length + 1);
    };
    await reported("inactive", "no one provides timer");
    expect(await trigger.registered).toEqual({ status: "inactive", reason: "no one provides timer" });
    await reported("active");
    expect(seen).toEqual([{ status: "inactive", reason: "no one provides timer" }, { status: "active" }]);
    expect(trigger.status).toEqual({ status: "active" });
    stop();
    await reported("inactive");
    expect(seen).toHaveLength(2);
    expect(trigger.status).toMatchObject({ status: "inactive" });
  });

  it("logs an error after the engine accepted it as a failure, and before as a rejection", async () => {
    const trigger = worker.registerTrigger({ type: "timer", function_id: "f", config: null });
    const reported = async (status: string): Promise<void> => {
      const heard = new Promise<void>((resolve) => {
        const stop = trigger.onStatus(() => {
          stop();
          resolve();
        });
      });
      engine.send({
        type: "triggerregistrationresult",
        id: trigger.id,
        trigger_type: "timer",
        function_id: "f",
        status,
        reason: "why",
      });
      await heard;
    };
    for (const status of ["inactive", "error", "active", "error"]) await reported(status);
    expect(errors).toEqual(["the engine rejected a trigger", "a trigger failed"]);
  });
});
