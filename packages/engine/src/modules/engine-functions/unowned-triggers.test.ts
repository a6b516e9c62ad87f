import { type FunctionId, Payload } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { authResultSchema, grantsOfAuthResult } from "../../access/grants.ts";
import { policyOf } from "../../access/policy.ts";
import { SessionAccess } from "../../access/session-access.ts";
import { defineModule, type TriggerBinding } from "../../kernel/module.ts";
import type { WorkerLimits } from "../../kernel/worker-limits.ts";
import {
  accessOfRole,
  type InMemoryEngine,
  type InMemoryWorker,
  inMemoryEngine,
  manualClock,
  rulesWith,
} from "../../testing/index.ts";
import { type EngineInfo, engineFunctions } from "./index.ts";

const INFO = { version: "0.0.0" } as EngineInfo;
const REGISTER = "engine::register_trigger";
const UNREGISTER = "engine::unregister_trigger";

/** A connection with a token of the role guest, which may register triggers of `ring`. */
function connectGuest(engine: InMemoryEngine): Promise<InMemoryWorker> {
  return engine.connectWorker({ name: "guest", access: accessOfRole("guest", [REGISTER, UNREGISTER, "ring"]) });
}

async function scene(clock = manualClock(), limits: Partial<WorkerLimits> = {}) {
  const bindings = new Map<string, TriggerBinding<{ name: string }>>();
  const bell = defineModule({
    name: "svc-bell",
    summary: "Rings",
    config: z.unknown(),
    start({ provideTrigger }) {
      provideTrigger({
        type: "bell",
        summary: "Rings",
        settings: z.strictObject({ name: z.string() }),
        bind(binding) {
          bindings.set(binding.id, binding);
          return () => bindings.delete(binding.id);
        },
      });
      return { stop: () => {} };
    },
  });
  const engine = await inMemoryEngine({ modules: [engineFunctions(() => INFO), bell], clock, limits });
  const caller = await engine.connectWorker({ name: "caller" });
  return { engine, caller, bindings, clock };
}

const idOf = (answer: Record<string, unknown>): string => (answer.result as { id: string }).id;

describe("engine::register_trigger", () => {
  it("makes a trigger that outlives its caller, until somebody removes it", async () => {
    const { engine, caller, bindings, clock } = await scene();
    const id = idOf(
      await caller.call(REGISTER, {
        trigger_type: "bell",
        function_id: "ring",
        config: { name: "front" },
        metadata: { m: 1 },
      }),
    );
    caller.close();
    clock.advance(24 * 3_600_000);
    expect(bindings.size).toBe(1);
    const other = await engine.connectWorker({ name: "other" });
    const seen: unknown[] = [];
    other.serve("ring", (data, frame) => seen.push([data, frame.metadata]));
    other.say({ type: "ping" });
    await other.next((frame) => frame.type === "pong");
    await bindings.get(id)?.fire(Payload.fromValue("ding"));
    expect(seen).toEqual([["ding", { m: 1 }]]);
    expect(engine.directory.triggerById(id)).toMatchObject({ status: "active", worker_name: "ring" });
    expect(await other.call(UNREGISTER, { id })).toMatchObject({ result: { removed: true } });
    expect(await other.call(UNREGISTER, { id })).toMatchObject({ result: { removed: false } });
    expect(bindings.size).toBe(0);
  });

  it("says that a type or a function is not there yet, to clients of ours", async () => {
    const { engine, caller } = await scene();
    expect(await caller.call(REGISTER, { trigger_type: "keywrd", function_id: "ring", config: {} })).toMatchObject({
      result: { id: expect.any(String), status: "inactive", reason: "no one provides the trigger type keywrd" },
    });
    expect(
      await caller.call(REGISTER, { trigger_type: "bell", function_id: "ring", config: { name: "n" } }),
    ).toMatchObject({
      result: { status: "inactive", reason: "no live worker provides ring" },
    });
    caller.serve("ring", () => null);
    expect(
      await caller.call(REGISTER, { trigger_type: "bell", function_id: "ring", config: { name: "n" } }),
    ).toMatchObject({
      result: { status: "active", reason: null },
    });
    const published = await engine.connectWorker({
      name: "published",
      features: [],
      runtime: "node",
      version: "0.22.1",
    });
    const answer = await published.call(REGISTER, { trigger_type: "keywrd", function_id: "ring", config: { more: 1 } });
    expect(answer.result).toEqual({ id: expect.any(String) });
  });

  it("ignores unknown members of a config for published clients, and refuses them for ours (decision 42)", async () => {
    const { engine, caller, bindings } = await scene();
    const trigger = { trigger_type: "bell", function_id: "ring", config: { name: "n", volume: 3 } };
    expect(await caller.call(REGISTER, trigger)).toMatchObject({
      error: { message: "bell trigger: config: unknown member `volume`" },
    });
    const published = await engine.connectWorker({ name: "published", features: [], version: "0.22.1" });
    const id = idOf(await published.call(REGISTER, trigger));
    expect(bindings.get(id)?.settings).toEqual({ name: "n" });
  });

  it("refuses a config that does not fit, and keeps nothing", async () => {
    const { engine, caller } = await scene();
    expect(await caller.call(REGISTER, { trigger_type: "bell", function_id: "ring", config: {} })).toMatchObject({
      error: { code: "trigger_registration_failed", message: expect.stringContaining("`name`") },
    });
    expect(engine.directory.triggers()).toEqual([]);
    expect(await caller.call(REGISTER, { trigger_type: "", function_id: "ring" })).toMatchObject({
      error: { code: "invalid_input" },
    });
  });

  it("has a limit for one, and for all together, which removing one makes room below (K4)", async () => {
    const { caller } = await scene();
    const ask = (index: number, length = 1_000_000): Promise<Record<string, unknown>> =>
      caller.call(REGISTER, {
        trigger_type: "bell",
        function_id: "ring",
        config: { name: `${index}${"x".repeat(length)}` },
      });
    expect(await ask(0, 1_100_000)).toMatchObject({ error: { code: "payload_too_large" } });
    const first = idOf(await ask(0));
    for (let index = 1; index < 67; index++) expect(await ask(index)).toMatchObject({ result: {} });
    expect(await ask(67)).toMatchObject({ error: { code: "payload_too_large" } });
    await caller.call(UNREGISTER, { id: first });
    expect(await ask(67)).toMatchObject({ result: {} });
  });

  it("ends when the function of a restricted caller has become another's, also after the caller has gone", async () => {
    const { engine } = await scene();
    const rbac = { allowed_functions: [REGISTER] };
    const rules = {
      tokenRequired: false,
      middlewareFunctionId: undefined,
      rbac: {
        authFunctionId: undefined,
        exposeFunctions: [],
        onFunctionRegistrationFunctionId: undefined,
        onTriggerRegistrationFunctionId: undefined,
        onTriggerTypeRegistrationFunctionId: undefined,
        roles: [],
        tokens: [],
      },
    };
    const guest = await engine.connectWorker({
      access: new SessionAccess(grantsOfAuthResult(authResultSchema.parse(rbac), "auth"), policyOf(rules)),
    });
    guest.say({ type: "registerfunction", id: "ring" });
    const id = idOf(
      await guest.call(REGISTER, { trigger_type: "bell", function_id: "ring", config: { name: "front" } }),
    );
    guest.close();
    await guest.closed;
    expect(engine.directory.triggerById(id)).toBeDefined();
    const owner = await engine.connectWorker({ name: "owner" });
    owner.say({ type: "registerfunction", id: "ring" });
    expect(await owner.call(UNREGISTER, { id })).toMatchObject({ result: { removed: false } });
    expect(engine.directory.triggerById(id)).toBeUndefined();
  });

  it("waits for a type that nobody provides yet (gap 51)", async () => {
    const { engine, caller } = await scene();
    const id = idOf(await caller.call(REGISTER, { trigger_type: "gong", function_id: "ring" }));
    expect(engine.directory.triggerById(id)).toMatchObject({
      status: "inactive",
      reason: "no one provides the trigger type gong",
    });
  });

  it("waits for the word of a worker that provides the type: its yes, its no", async () => {
    const { engine, caller } = await scene();
    const provider = await engine.connectWorker({ name: "provider" });
    provider.say({ type: "registertriggertype", id: "gong", description: "Sounds" });
    const answers: (object | undefined)[] = [undefined, { code: "x", message: "no such gong" }];
    const results = [];
    for (const error of answers) {
      const asked = caller.call(REGISTER, { trigger_type: "gong", function_id: "ring", config: { n: results.length } });
      const { id } = await provider.next((frame) => frame.type === "registertrigger");
      provider.say({
        type: "triggerregistrationresult",
        id,
        trigger_type: "gong",
        function_id: "ring",
        ...(error === undefined ? {} : { error }),
      });
      results.push(await asked);
    }
    expect(results).toMatchObject([
      { result: { id: expect.any(String) } },
      { error: { code: "trigger_registration_failed", message: "no such gong" } },
    ]);
    expect(engine.directory.triggers()).toHaveLength(1);
  });

  it("goes on after 10 s when that worker says nothing", async () => {
    const { engine, caller, clock } = await scene();
    const provider = await engine.connectWorker({ name: "mute" });
    provider.say({ type: "registertriggertype", id: "gong", description: "Sounds" });
    const asked = caller.call(REGISTER, { trigger_type: "gong", function_id: "ring" });
    await provider.next((frame) => frame.type === "registertrigger");
    clock.advance(10_000);
    expect(engine.directory.triggerById(idOf(await asked))).toMatchObject({ trigger_type: "gong" });
  });
});

describe("a trigger that a role made", () => {
  it("says who made it, and is removed with the role, or with its last token", async () => {
    const { engine, bindings } = await scene();
    engine.kernel.roles.set([rulesWith("guest", "other")]);
    const made: string[] = [];
    for (const role of ["guest", "other"]) {
      const worker = await engine.connectWorker({ name: role, access: accessOfRole(role, [REGISTER, "ring"]) });
      made.push(
        idOf(await worker.call(REGISTER, { trigger_type: "bell", function_id: "ring", config: { name: role } })),
      );
      worker.close();
    }
    const owner = await engine.connectWorker({ name: "owner" });
    const ofOwner = idOf(
      await owner.call(REGISTER, { trigger_type: "bell", function_id: "ring", config: { name: "owner" } }),
    );
    const makers = async () => {
      const { result } = await owner.call("engine::registered-triggers::list", {});
      return (result as { registered_triggers: { id: string; made_by: unknown }[] }).registered_triggers.map(
        ({ id, made_by }) => [id, made_by],
      );
    };
    expect(await makers()).toEqual(
      expect.arrayContaining([
        [made[0], { principal: "role guest", role: "guest" }],
        [ofOwner, null],
      ]),
    );
    engine.kernel.unownedTriggers.removeTriggersOfChangedRoles();
    expect(bindings.size).toBe(3);
    engine.kernel.roles.set([rulesWith("other")]);
    engine.kernel.unownedTriggers.removeTriggersOfChangedRoles();
    expect([...bindings.keys()].sort()).toEqual([made[1], ofOwner].sort());
    expect(engine.logs.find(({ message }) => message.startsWith("a trigger was removed"))).toMatchObject({
      fields: { id: made[0], role: "guest" },
    });
  });
});

describe("what a restricted principal may have of triggers without an owner", () => {
  const register = (worker: InMemoryWorker, n: number, length = 0): Promise<Record<string, unknown>> =>
    worker.call(REGISTER, { trigger_type: "bell", function_id: "ring", config: { name: `${n}${"x".repeat(length)}` } });

  it("is an eighth of their number, over all of its connections, and never what trusted callers need", async () => {
    const { engine, caller } = await scene();
    const guests = [await connectGuest(engine), await connectGuest(engine)];
    for (let n = 0; n < 1_250; n++)
      expect(await register(guests[n % 2] as InMemoryWorker, n)).toMatchObject({ error: null });
    const full = {
      error: {
        code: "registration_refused",
        message: expect.stringContaining("role guest together have 1250 triggers without an owner of 1250"),
      },
    };
    for (const guest of guests) expect(await register(guest, 1_250)).toMatchObject(full);
    expect(await register(caller, 1_250)).toMatchObject({ error: null });
    const [first] = engine.directory.triggers();
    expect(await guests[0]?.call(UNREGISTER, { id: first?.id })).toMatchObject({ result: { removed: true } });
    expect(await register(guests[1] as InMemoryWorker, 1_251)).toMatchObject({ error: null });
  });

  it("is an eighth of their characters", async () => {
    const { engine, caller } = await scene();
    const guest = await connectGuest(engine);
    for (let n = 0; n < 8; n++) expect(await register(guest, n, 1_000_000)).toMatchObject({ error: null });
    expect(await register(guest, 8, 1_000_000)).toMatchObject({
      error: { code: "payload_too_large", message: expect.stringContaining("role guest together have") },
    });
    expect(await register(caller, 8, 1_000_000)).toMatchObject({ error: null });
  });

  it("counts as its triggers, like those of its connections", async () => {
    const { engine, caller } = await scene(manualClock(), { maxTriggers: 2 });
    const guest = await connectGuest(engine);
    guest.say({ type: "registertrigger", id: "t", trigger_type: "bell", function_id: "ring", config: { name: "own" } });
    expect(await register(guest, 1)).toMatchObject({ error: null });
    const full = {
      error: {
        code: "registration_refused",
        message: expect.stringContaining("role guest together have 2 triggers of 2"),
      },
    };
    expect(await register(guest, 2)).toMatchObject(full);
    for (let n = 3; n < 6; n++) expect(await register(caller, n)).toMatchObject({ error: null });
  });
});

describe("a caller whose connection has ended", () => {
  it("is not taken for a trusted one: it may register and remove no trigger without an owner, and call no function of a module", async () => {
    const { engine } = await scene();
    const { unownedTriggers, router } = engine.kernel;
    const gone = { worker_id: "00000000-0000-4000-8000-000000000000", name: "gone" };
    const trigger = { triggerType: "bell", functionId: "ring", config: { name: "front" }, metadata: undefined };
    const ended = { code: "call_cancelled", message: "the caller's connection has ended" };
    await expect(unownedTriggers.register(trigger, gone)).rejects.toMatchObject(ended);
    const id = await unownedTriggers.register(trigger, { worker_id: "module:svc-bell", name: "svc-bell" });
    expect(() => unownedTriggers.remove(id, gone)).toThrow(expect.objectContaining(ended));
    await expect(
      router.call("engine::functions::list" as FunctionId, Payload.fromValue({}), { caller: gone }),
    ).rejects.toMatchObject(ended);
    expect(unownedTriggers.remove(id, undefined)).toBe(true);
  });
});

describe("engine::unregister_trigger", () => {
  it("removes the caller's own trigger, and refuses to remove another worker's (gap 56)", async () => {
    const { engine, caller, bindings } = await scene();
    const other = await engine.connectWorker({ name: "other" });
    caller.say({
      type: "registertrigger",
      id: "t1",
      trigger_type: "bell",
      function_id: "ring",
      config: { name: "front" },
    });
    await caller.next((frame) => frame.type === "triggerregistrationresult");
    expect(await other.call(UNREGISTER, { id: "t1" })).toMatchObject({
      error: { code: "FORBIDDEN", message: expect.stringContaining("caller") },
    });
    expect(bindings.size).toBe(1);
    expect(await caller.call(UNREGISTER, { id: "t1" })).toMatchObject({ result: { removed: true } });
    expect(bindings.size).toBe(0);
  });
});
