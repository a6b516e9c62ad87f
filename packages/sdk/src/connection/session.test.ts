import { readdirSync, readFileSync } from "node:fs";
import { CallError, MAX_FRAME_BYTES } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { MAX_QUEUED_CALLS, type PendingCall } from "../calls/pending-calls.ts";
import type { WireBinding } from "../registration/provided-bindings.ts";
import { ProviderSession } from "../registration/provider-session.ts";
import type { InboundCall } from "./inbound.ts";
import { readMalformedFrame } from "./malformed-frame.ts";
import { Session, type SessionOutput, type TriggerResult } from "./session.ts";

type Json = Readonly<Record<string, unknown>>;
interface Step extends Json {
  readonly do: string;
  readonly frames?: readonly Json[];
  readonly effects?: readonly Json[];
}

/** Drives a session with its part for what the worker provides, as described in vectors/session/README.md, and records its effects. */
class Probe implements SessionOutput {
  frames: string[] = [];
  effects: Json[] = [];
  logs: string[] = [];
  nowMs = 0;
  readonly calls = new Map<string, PendingCall>();
  readonly bindings = new Map<string, WireBinding>();
  readonly triggerTypes = new Map<string, string>();
  readonly session: Session;
  readonly provider: ProviderSession;
  #ids = 0;

  constructor(callTimeoutMs?: number) {
    const newId = (): string => `00000000-0000-4000-8000-${String(++this.#ids).padStart(12, "0")}`;
    this.session = new Session({ output: this, introduction: { name: "probe" }, newId, callTimeoutMs });
    this.provider = new ProviderSession({ session: this.session, newId, log: this.log.bind(this) });
  }

  send(frame: string): void {
    this.frames.push(frame);
  }
  registered(workerId: string, takesTelemetry: boolean): void {
    this.effects.push({ effect: "registered", worker_id: workerId, takes_telemetry: takesTelemetry });
  }
  call(inbound: InboundCall): void {
    const call = this.provider.accept(inbound);
    if (call === undefined) return;
    const { invocationId, functionId, ...rest } = call;
    this.effects.push({ effect: "run", invocation_id: invocationId, function_id: functionId, ...rest });
  }
  cancelCall(invocationId: string, reason: string): void {
    if (this.provider.cancel(invocationId)) this.#cancelled(invocationId, reason);
  }
  #cancelled(invocationId: string, reason: string): void {
    this.effects.push({ effect: "cancel", invocation_id: invocationId, reason });
  }
  bind(message: Parameters<SessionOutput["bind"]>[0]): void {
    const { binding, replaced } = this.provider.bind(message);
    this.#unbound(replaced);
    this.bindings.set(binding.id, binding);
    this.effects.push({ effect: "bind", ...binding });
  }
  unbind(id: string): void {
    this.#unbound(this.provider.unbind(id));
  }
  #unbound(binding: WireBinding | undefined): void {
    if (binding !== undefined) this.effects.push({ effect: "unbind", ...binding });
  }
  disconnected(): void {
    const { invocationIds, bindings } = this.provider.disconnected();
    for (const invocationId of invocationIds) this.#cancelled(invocationId, "disconnected");
    for (const binding of bindings) this.#unbound(binding);
  }
  triggerResult(id: string, result: TriggerResult): void {
    this.effects.push({ effect: "trigger_result", id, ...result });
  }
  readMalformed(...[frame, then]: Parameters<SessionOutput["readMalformed"]>): void {
    then(readMalformedFrame(frame));
  }
  log(_level: string, message: string): void {
    this.logs.push(message);
  }

  makeCall(name: string, request: Parameters<Session["call"]>[0]): void {
    const isVoid = request.action?.type === "void";
    const settled = (result: unknown): void => {
      this.effects.push(
        isVoid
          ? { effect: "call_written", call: name }
          : result === undefined
            ? { effect: "call_answered", call: name }
            : { effect: "call_answered", call: name, result },
      );
    };
    const failed = (error: CallError): void => {
      this.effects.push({
        effect: "call_failed",
        call: name,
        code: error.code,
        message: error.message,
        executed: error.executed,
        details: error.details,
      });
    };
    try {
      this.calls.set(name, this.session.call(request, this.nowMs, settled, failed));
    } catch (thrown) {
      failed(CallError.from(thrown));
    }
  }

  take(step: Step): void {
    const { session, provider } = this;
    const id = step.id as string;
    const outbound = (action?: Parameters<Session["call"]>[0]["action"]): Parameters<Session["call"]>[0] => ({
      action,
      functionId: step.function_id as string,
      payload: step.payload,
      metadata: step.metadata,
      timeoutMs: step.timeout_ms as number | undefined,
      traceparent: step.traceparent as string | undefined,
      baggage: step.baggage as string | undefined,
    });
    const { do: _do, frames: _frames, effects: _effects, ...members } = step;
    const steps: Readonly<Record<string, () => void>> = {
      open: () => session.opened(this.nowMs),
      close: () => session.closed(),
      receive: () => session.received(typeof step.text === "string" ? step.text : JSON.stringify(step.frame)),
      advance_ms: () => {
        this.nowMs += step.ms as number;
        session.advance(this.nowMs);
      },
      register_function: () => session.registerFunction({ ...members, id }),
      unregister_function: () => session.unregisterFunction(id),
      register_trigger_type: () =>
        session.registerTriggerType({ ...members, id, description: step.description as string }),
      unregister_trigger_type: () => session.unregisterTriggerType(id),
      register_trigger: () => {
        const type = step.type as string;
        const made = session.registerTrigger({
          type,
          function_id: step.function_id as string,
          config: step.config,
          metadata: step.metadata,
        });
        this.triggerTypes.set(made, type);
      },
      unregister_trigger: () => session.unregisterTrigger(id, this.triggerTypes.get(id) as string),
      call: () => this.makeCall(step.as as string, outbound()),
      call_void: () => this.makeCall(step.as as string, outbound({ type: "void" })),
      enqueue: () => this.makeCall(step.as as string, outbound({ type: "enqueue", queue: step.queue as string })),
      abort_call: () => session.abort(this.calls.get(step.call as string) as PendingCall),
      answer: () => {
        const invocationId = step.invocation_id as string;
        if (step.error === undefined) provider.answer(invocationId, step.result);
        else provider.fail(invocationId, step.error as { code: string; message: string });
      },
      answer_binding: () =>
        provider.answerBinding(
          this.bindings.get(id) as WireBinding,
          step.error as { code: string; message: string } | undefined,
        ),
    };
    const action = steps[step.do];
    if (action === undefined) throw new Error(`unknown step ${step.do}`);
    this.frames = [];
    this.effects = [];
    action();
  }
}

const folder = new URL("../../vectors/session/", import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith(".json"));

describe("the session, by its scenarios", () => {
  it("has scenarios to run", () => expect(files.length).toBeGreaterThan(10));

  for (const file of files) {
    const scenario = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as {
      readonly name: string;
      readonly steps: readonly Step[];
    };
    it(scenario.name, () => {
      const probe = new Probe();
      for (const [index, step] of scenario.steps.entries()) {
        probe.take(step);
        const where = `${file}, step ${index} (${step.do})`;
        expect(
          probe.frames.map((frame) => JSON.parse(frame)),
          where,
        ).toEqual(step.frames ?? []);
        for (const frame of probe.frames) expect(isPayloadLast(frame), `${where}: ${frame}`).toBe(true);
        expect(probe.effects, where).toMatchObject((step.effects ?? []) as Json[]);
      }
    });
  }
});

function cycle(): unknown {
  const self: Record<string, unknown> = {};
  self.self = self;
  return self;
}

function isPayloadLast(frame: string): boolean {
  const members = Object.keys(JSON.parse(frame) as Json);
  return ["data", "result"].every((name) => !members.includes(name) || members.at(-1) === name);
}

describe("the session", () => {
  const opened = (): Probe => {
    const probe = new Probe();
    probe.take({ do: "open" });
    return probe;
  };

  it("rejects a call above the maximum of waiting calls, and names the limit", () => {
    const probe = new Probe();
    for (let n = 0; n < MAX_QUEUED_CALLS; n++) probe.makeCall(`c${n}`, { functionId: "f" });
    expect(probe.effects).toEqual([]);
    probe.makeCall("last", { functionId: "f" });
    expect(probe.effects).toMatchObject([
      {
        effect: "call_failed",
        call: "last",
        code: "disconnected",
        message: expect.stringContaining(`${MAX_QUEUED_CALLS} calls`),
      },
    ]);
    probe.take({ do: "open" });
    expect(probe.frames).toHaveLength(1 + MAX_QUEUED_CALLS);
  });

  it("makes room in the queue when a waiting call expires", () => {
    const probe = new Probe();
    for (let n = 0; n < MAX_QUEUED_CALLS; n++) probe.makeCall(`c${n}`, { functionId: "f", timeoutMs: 10 });
    probe.take({ do: "advance_ms", ms: 10 });
    probe.effects = [];
    probe.makeCall("next", { functionId: "f" });
    expect(probe.effects).toEqual([]);
  });

  it("reports when the next deadline is due, and infinity if no call is pending", () => {
    const probe = opened();
    expect(probe.session.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
    probe.makeCall("a", { functionId: "f", timeoutMs: 300 });
    probe.makeCall("b", { functionId: "f", timeoutMs: 200 });
    expect(probe.session.nextDeadlineMs).toBe(200);
    probe.take({ do: "advance_ms", ms: 200 });
    expect(probe.session.nextDeadlineMs).toBe(300);
    probe.take({ do: "advance_ms", ms: 100 });
    expect(probe.session.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
    expect(probe.session.pendingCalls).toBe(0);
  });

  it("sends the worker's call timeout with calls that have none", () => {
    const probe = new Probe(7000);
    probe.take({ do: "open" });
    probe.take({ do: "call", as: "a", function_id: "f" });
    expect(JSON.parse(probe.frames[0] as string)).toMatchObject({ timeout_ms: 7000 });
  });

  it("rejects a payload over the frame limit locally and sends nothing", () => {
    const probe = opened();
    probe.take({ do: "call", as: "big", function_id: "f", payload: "x".repeat(MAX_FRAME_BYTES) });
    expect(probe.frames).toEqual([]);
    expect(probe.effects).toMatchObject([{ code: "payload_too_large" }]);
  });

  it("measures bytes, not characters, against the frame limit", () => {
    const probe = opened();
    probe.take({ do: "call", as: "big", function_id: "f", payload: "€".repeat(MAX_FRAME_BYTES / 3) });
    expect(probe.effects).toMatchObject([{ code: "payload_too_large" }]);
    probe.take({ do: "call", as: "fits", function_id: "f", payload: "x".repeat(MAX_FRAME_BYTES / 2) });
    expect(probe.frames).toHaveLength(1);
  });

  it.each([
    ["a cycle", cycle()],
    ["a BigInt", 1n],
    ["a function", () => 1],
    ["NaN", { ratio: Number.NaN }],
  ])("refuses a payload or metadata that JSON cannot hold: %s", (_what, value) => {
    const probe = opened();
    probe.take({ do: "call", as: "bad", function_id: "f", payload: value });
    expect(probe.effects).toMatchObject([
      { code: "invalid_input", message: expect.stringContaining("payload for function f") },
    ]);
    probe.take({ do: "call", as: "bad", function_id: "f", metadata: value });
    expect(probe.effects).toMatchObject([
      { code: "invalid_input", message: expect.stringContaining("metadata for function f") },
    ]);
    expect(probe.frames).toEqual([]);
  });

  it("names the path of a number in the payload that JSON cannot represent", () => {
    const probe = opened();
    probe.take({ do: "call", as: "bad", function_id: "f", payload: { rows: [{ price: Number.POSITIVE_INFINITY }] } });
    expect(probe.effects).toMatchObject([{ message: expect.stringContaining("rows[0].price is Infinity") }]);
  });

  it("answers serialization_error for a result that contains NaN", () => {
    const probe = opened();
    probe.take({ do: "register_function", id: "f" });
    const invocation_id = "11111111-1111-4111-8111-111111111111";
    probe.take({ do: "receive", frame: { type: "invokefunction", invocation_id, function_id: "f", data: 1 } });
    probe.take({ do: "answer", invocation_id, result: { ratio: Number.NaN } });
    expect(JSON.parse(probe.frames[0] as string)).toMatchObject({
      invocation_id,
      error: { code: "serialization_error" },
    });
  });

  it("answers serialization_error for a result that JSON cannot represent, payload_too_large for one that is too large", () => {
    const probe = opened();
    probe.take({ do: "register_function", id: "f" });
    const ids = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"] as const;
    for (const invocation_id of ids)
      probe.take({ do: "receive", frame: { type: "invokefunction", invocation_id, function_id: "f", data: 1 } });
    probe.take({ do: "answer", invocation_id: ids[0], result: 1n });
    expect(JSON.parse(probe.frames[0] as string)).toMatchObject({
      invocation_id: ids[0],
      error: { code: "serialization_error" },
    });
    probe.take({ do: "answer", invocation_id: ids[1], result: "x".repeat(MAX_FRAME_BYTES) });
    expect(JSON.parse(probe.frames[0] as string)).toMatchObject({
      invocation_id: ids[1],
      error: { code: "payload_too_large" },
    });
  });

  it("sends an error without its details if JSON cannot represent them", () => {
    const probe = opened();
    probe.take({ do: "register_function", id: "f" });
    const invocation_id = "11111111-1111-4111-8111-111111111111";
    probe.take({ do: "receive", frame: { type: "invokefunction", invocation_id, function_id: "f", data: 1 } });
    probe.frames = [];
    probe.provider.fail(invocation_id, { code: "mine", message: "m", details: { big: 1n } });
    expect(JSON.parse(probe.frames[0] as string)).toMatchObject({ error: { code: "mine", message: "m" } });
  });

  it("runs a call once that arrives twice", () => {
    const probe = opened();
    probe.take({ do: "register_function", id: "f" });
    const frame = {
      type: "invokefunction",
      invocation_id: "11111111-1111-4111-8111-111111111111",
      function_id: "f",
      data: 1,
    };
    probe.take({ do: "receive", frame });
    probe.take({ do: "receive", frame });
    expect(probe.effects).toEqual([]);
    expect(probe.logs).toContain("a call arrived twice; running it once");
  });

  it.each(["", "  ", "x".repeat(257), "a\nb"])(
    "rejects the id %j for functions, trigger types and triggers with a TypeError",
    (id) => {
      const { session } = new Probe();
      expect(() => session.registerFunction({ id })).toThrow(TypeError);
      expect(() => session.registerTriggerType({ id, description: "d" })).toThrow(TypeError);
      expect(() => session.registerTrigger({ type: id, function_id: "f", config: {} })).toThrow(TypeError);
      expect(() => session.registerTrigger({ type: "http", function_id: id, config: {} })).toThrow(TypeError);
    },
  );

  it("rejects an id that is registered, and accepts it after it was unregistered", () => {
    const { session } = new Probe();
    session.registerFunction({ id: "f" });
    expect(() => session.registerFunction({ id: "f" })).toThrow(
      "function id f is already registered by this worker; unregister it first",
    );
    session.unregisterFunction("f");
    session.registerFunction({ id: "f" });
    expect(() => session.registerFunction({ id: "f" })).toThrow("already registered");
  });

  it("survives hostile frames", () => {
    const probe = opened();
    for (const text of [
      "{",
      "null",
      "7",
      '"x"',
      '{"type":7}',
      '{"type":"__proto__"}',
      '{"type":"invokefunction"}',
      '{"type":"invocationresult","invocation_id":{}}',
      '{"type":"registertrigger"}',
      '{"type":"error"}',
      '{"type":"error","error":7}',
      '{"type":"cancelinvocation","invocation_id":"x"}',
      '{"type":"workerregistered"}',
      "\u0000",
      '{"type":"invokefunction","invocation_id":"'.repeat(1000),
    ]) {
      probe.take({ do: "receive", text });
      expect(probe.effects).toEqual([]);
      expect(probe.frames).toEqual([]);
    }
  });
});
