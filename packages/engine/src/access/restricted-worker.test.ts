import { Payload } from "@svc-runtime/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { callerAccess } from "../kernel/caller-access.ts";
import { defineModule, type Module, type TriggerBinding } from "../kernel/module.ts";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine, manualClock } from "../testing/index.ts";
import { ANONYMOUS, authResultSchema, type Grants, grantsOfAuthResult, THROUGH_MIDDLEWARE } from "./grants.ts";
import { policyOf } from "./policy.ts";
import { SessionAccess } from "./session-access.ts";
import type { AccessSettings, RbacSettings } from "./settings.ts";

let running: InMemoryEngine | undefined;
afterEach(async () => running?.stop());

async function start(options: Parameters<typeof inMemoryEngine>[0] = {}): Promise<InMemoryEngine> {
  running = await inMemoryEngine(options);
  return running;
}

const rbac = (more: Partial<RbacSettings> = {}): RbacSettings => ({
  authFunctionId: undefined,
  exposeFunctions: [],
  onFunctionRegistrationFunctionId: undefined,
  onTriggerRegistrationFunctionId: undefined,
  onTriggerTypeRegistrationFunctionId: undefined,
  roles: [],
  tokens: [],
  ...more,
});
const settings = (more: Partial<AccessSettings> = {}): AccessSettings => ({
  tokenRequired: false,
  rbac: rbac(),
  middlewareFunctionId: undefined,
  ...more,
});
const granted = (result: Record<string, unknown>): Grants =>
  grantsOfAuthResult(authResultSchema.parse(result), "auth::check");
const accessTo = (rules: AccessSettings, grants: Grants = ANONYMOUS): SessionAccess =>
  new SessionAccess(grants, policyOf(rules));

/** A module with the trigger type `tick`, whose triggers may have a condition. */
const ticks = defineModule({
  name: "ticks",
  summary: "",
  config: z.unknown(),
  start(context) {
    context.provideTrigger({
      type: "tick",
      summary: "",
      settings: z.object({ condition_function_id: z.string().optional() }),
      bind(binding) {
        binding.needs(
          binding.settings.condition_function_id === undefined ? [] : [binding.settings.condition_function_id],
        );
        return () => {};
      },
    });
    return { stop: () => {} };
  },
});

/** Binds only if the connection may see the result of the config's function. */
const showing = defineModule({
  name: "showing",
  summary: "showing",
  config: z.unknown(),
  start(context) {
    context.provideTrigger({
      type: "shows",
      summary: "shows",
      settings: z.object({ shown: z.string() }),
      bind(binding) {
        const refusal = binding.callRefusal(binding.settings.shown);
        if (refusal !== undefined) throw refusal;
        return () => {};
      },
    });
    return { stop: () => {} };
  },
});

/** Resolves when the engine has handled all previous frames of the worker. */
async function settled(worker: InMemoryWorker): Promise<void> {
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
}

const trigger = (function_id: string, config: unknown = {}, trigger_type = "tick") => ({
  type: "registertrigger",
  id: crypto.randomUUID(),
  trigger_type,
  function_id,
  config,
});

/** Returns what the engine's next `error` frame refuses: message type, id, code. */
async function refused(worker: InMemoryWorker): Promise<unknown[]> {
  const { error } = (await worker.next((frame) => frame.type === "error")) as {
    error: { code: string; details: { message_type: string; id: string } };
  };
  return [error.details.message_type, error.details.id, error.code];
}

const denials = (engine: InMemoryEngine): unknown[] =>
  engine.logs.filter(({ message }) => message === "access denied").map(({ fields }) => fields.id);
const codeOf = (frame: Record<string, unknown>): unknown => (frame.error as { code?: string } | undefined)?.code;

describe("a restricted worker's calls (gap 56)", () => {
  it("reach what is exposed; others are answered with FORBIDDEN and noted, void ones noted only", async () => {
    const engine = await start();
    const owner = await engine.connectWorker({ name: "owner" });
    owner.serve("api::hello", () => "hi");
    owner.serve("secret", () => "no");
    await settled(owner);
    const guest = await engine.connectWorker({
      name: "guest",
      access: accessTo(settings({ rbac: rbac({ exposeFunctions: ['match("api::*")'] }) })),
    });
    expect(await guest.call("api::hello")).toMatchObject({ result: "hi" });
    expect(await guest.call("secret")).toMatchObject({
      function_id: "secret",
      error: { code: "FORBIDDEN", message: "function 'secret' not allowed (add to rbac.expose_functions)" },
    });
    expect(codeOf(await guest.call("not::there"))).toBe("FORBIDDEN");
    guest.say({ type: "invokefunction", function_id: "secret", data: 1 });
    guest.say({
      type: "invokefunction",
      invocation_id: crypto.randomUUID(),
      function_id: "secret",
      action: { type: "void" },
      data: 1,
    });
    await settled(guest);
    expect(guest.received).toEqual([]);
    expect(denials(engine)).toEqual(["secret", "not::there", "secret", "secret"]);
    expect(engine.logs.find(({ message }) => message === "access denied")?.fields).toMatchObject({
      workerName: "guest",
      subject: "an anonymous connection",
    });
  });

  it("reach its own principal's functions by their full ids, unless they are forbidden, and nobody else's below the same prefix", async () => {
    const engine = await start();
    const rules = settings({ rbac: rbac() });
    const acme = granted({ function_registration_prefix: "acme", forbidden_functions: ["acme::closed"] });
    const guest = await engine.connectWorker({ access: accessTo(rules, acme) });
    const twin = await engine.connectWorker({ access: accessTo(rules, acme) });
    const stranger = await engine.connectWorker({
      access: accessTo(rules, granted({ function_registration_prefix: "rival" })),
    });
    const owner = await engine.connectWorker();
    guest.serve("greet", () => "hi");
    guest.serve("closed", () => "no");
    await settled(guest);
    owner.serve("acme::theirs", () => "no");
    await settled(owner);
    expect(await guest.call("acme::greet")).toMatchObject({ result: "hi" });
    expect(await twin.call("acme::greet")).toMatchObject({ result: "hi" });
    for (const id of ["greet", "acme::closed", "acme::theirs"])
      expect([id, codeOf(await guest.call(id))]).toEqual([id, "FORBIDDEN"]);
    expect(codeOf(await stranger.call("acme::greet"))).toBe("FORBIDDEN");
  });

  it("cannot go by way of the queue to a function that is forbidden", async () => {
    const engine = await start();
    const queue = await engine.connectWorker();
    queue.serve("engine::queue::enqueue", () => ({ messageReceiptId: "1" }));
    await settled(queue);
    const guest = await engine.connectWorker({
      access: accessTo(settings(), granted({ allowed_functions: ["engine::queue::enqueue", "mine"] })),
    });
    expect(codeOf(await guest.call("engine::queue::enqueue", { queue: "q", function_id: "secret", data: 1 }))).toBe(
      "FORBIDDEN",
    );
    expect(codeOf(await guest.call("engine::queue::enqueue", { queue: "q" }))).toBe("FORBIDDEN");
    expect(await guest.call("engine::queue::enqueue", { queue: "q", function_id: "mine", data: 1 })).toMatchObject({
      result: { messageReceiptId: "1" },
    });
    expect(codeOf(await guest.call("secret", 1, { action: { type: "enqueue", queue: "q" } }))).toBe("FORBIDDEN");
  });
});

describe("a restricted worker's registrations (gap 52, gap 56)", () => {
  it("are answered when it may not register", async () => {
    const engine = await start();
    const guest = await engine.connectWorker({
      access: accessTo(settings(), granted({ allow_function_registration: false })),
    });
    guest.say({ type: "registerfunction", id: "x" });
    expect(await guest.next()).toMatchObject({
      type: "error",
      error: { code: "FORBIDDEN", details: { message_type: "registerfunction", id: "x" } },
    });
    guest.say({ type: "registertriggertype", id: "tt", description: "" });
    expect(await guest.next()).toMatchObject({
      type: "error",
      error: { code: "FORBIDDEN", details: { message_type: "registertriggertype", id: "tt" } },
    });
    expect(engine.directory.functionById("x")).toBeUndefined();
  });

  it("cannot join or replace another owner's function, nor take over what decides over access (K2)", async () => {
    const engine = await start();
    const rules = settings({ rbac: rbac({ authFunctionId: "auth::check" }) });
    engine.kernel.reservedIds.configure([rules]);
    const owner = await engine.connectWorker();
    owner.serve("orders::pay", () => "paid");
    await settled(owner);
    const guest = await engine.connectWorker({ access: accessTo(rules, granted({})) });
    // Unrestricted workers may provide this one, which receives the jobs of all principals.
    for (const id of ["orders::pay", "auth::check", "engine::x", "engine::queue::enqueue"]) {
      guest.say({ type: "registerfunction", id });
      expect(await guest.next()).toMatchObject({ type: "error", error: { details: { id } } });
    }
    await settled(guest);
    expect(engine.directory.functionById("engine::queue::enqueue")).toBeUndefined();
    guest.say({ type: "unregisterfunction", id: "orders::pay" });
    await settled(guest);
    expect(await engine.call("orders::pay")).toBe("paid");
    const twin = await engine.connectWorker({ access: accessTo(rules, granted({})) });
    guest.serve("shared", () => "guest");
    twin.serve("shared", () => "twin");
    await settled(guest);
    await settled(twin);
    expect(engine.directory.functionById("shared")?.workers).toHaveLength(2);
  });

  it("give way to an unrestricted worker's", async () => {
    const engine = await start();
    const guest = await engine.connectWorker({ access: accessTo(settings()) });
    guest.serve("orders::pay", () => "stolen");
    await settled(guest);
    const owner = await engine.connectWorker();
    owner.serve("orders::pay", () => "paid");
    await settled(owner);
    expect(await guest.next()).toMatchObject({
      type: "error",
      error: { code: "registration_refused", details: { id: "orders::pay" } },
    });
    expect(await Promise.all([1, 2, 3].map(() => engine.call("orders::pay")))).toEqual(["paid", "paid", "paid"]);
  });

  it("get their prefix; the worker itself goes on in its own words", async () => {
    const engine = await start();
    const guest = await engine.connectWorker({
      access: accessTo(settings(), granted({ function_registration_prefix: "acme" })),
    });
    const asked: unknown[] = [];
    guest.serve("greet", (data, frame) => {
      asked.push(frame.function_id);
      return `hello ${String(data)}`;
    });
    guest.say({
      type: "registertrigger",
      id: crypto.randomUUID(),
      trigger_type: "tt",
      function_id: "greet",
      config: {},
    });
    expect(await guest.next()).toMatchObject({
      type: "triggerregistrationresult",
      function_id: "greet",
      status: "inactive",
    });
    expect(await engine.call("acme::greet", "you")).toBe("hello you");
    expect(asked).toEqual(["greet"]);
    expect(engine.directory.triggers()).toMatchObject([{ function_id: "acme::greet" }]);
    guest.say({ type: "unregisterfunction", id: "greet" });
    await settled(guest);
    expect(engine.directory.functionById("acme::greet")).toBeUndefined();
  });

  it("cannot be made below another's prefix, also when nobody with that prefix is connected", async () => {
    const engine = await start();
    const acme = await engine.connectWorker({
      access: accessTo(settings(), granted({ function_registration_prefix: "acme" })),
    });
    const others = [
      await engine.connectWorker({ access: accessTo(settings(), granted({})) }),
      await engine.connectWorker({ access: accessTo(settings(), granted({ function_registration_prefix: "evil" })) }),
    ];
    for (const [index, id] of ["acme::greet", "acme::greet"].entries())
      others[index]?.say({ type: "registerfunction", id });
    expect(await others[0]?.next()).toMatchObject({
      type: "error",
      error: { message: expect.stringContaining("belong to another") },
    });
    await settled(others[1] as InMemoryWorker);
    expect(engine.directory.functions().map((view) => view.function_id)).toEqual(["evil::acme::greet"]);
    acme.close();
    await acme.closed;
    others[0]?.say({ type: "registerfunction", id: "acme::greet" });
    expect(await others[0]?.next()).toMatchObject({
      type: "error",
      error: { message: expect.stringContaining("belong to another") },
    });
    const back = await engine.connectWorker({
      access: accessTo(settings(), granted({ function_registration_prefix: "acme" })),
    });
    back.serve("greet", () => "hello");
    await settled(back);
    expect(await engine.call("acme::greet")).toBe("hello");
  });

  it("cannot take an id that a trusted worker had, until a minute after that one unregistered it", async () => {
    const clock = manualClock();
    const engine = await start({ clock });
    const owner = await engine.connectWorker();
    owner.serve("payments::charge", () => "charged");
    owner.say({ type: "registertriggertype", id: "tick", description: "" });
    await settled(owner);
    owner.close();
    await owner.closed;
    const guest = await engine.connectWorker({ access: accessTo(settings()) });
    guest.say({ type: "registerfunction", id: "payments::charge" });
    expect(await refused(guest)).toEqual(["registerfunction", "payments::charge", "registration_refused"]);
    guest.say({ type: "registertriggertype", id: "tick", description: "" });
    expect(await refused(guest)).toEqual(["registertriggertype", "tick", "registration_refused"]);
    const back = await engine.connectWorker();
    back.serve("payments::charge", () => "charged");
    back.serve("payments::refund", () => "refunded");
    back.say({ type: "registertriggertype", id: "tick", description: "" });
    back.say({ type: "unregisterfunction", id: "payments::charge" });
    back.say({ type: "unregistertriggertype", id: "tick" });
    await settled(back);
    clock.advance(59_999);
    guest.say({ type: "registerfunction", id: "payments::charge" });
    expect(await refused(guest)).toEqual(["registerfunction", "payments::charge", "registration_refused"]);
    clock.advance(1);
    guest.say({ type: "registerfunction", id: "payments::charge" });
    guest.say({ type: "registertriggertype", id: "tick", description: "" });
    await settled(guest);
    expect(guest.received).toEqual([]);
  });

  it("cannot take the ids of a trusted worker that unregistered everything and left, as SDKs do when they shut down", async () => {
    const clock = manualClock();
    const engine = await start({ clock });
    const owner = await engine.connectWorker();
    owner.serve("payments::charge", () => "charged");
    owner.say({ type: "registertriggertype", id: "tick", description: "" });
    await settled(owner);
    owner.say({ type: "unregisterfunction", id: "payments::charge" });
    owner.say({ type: "unregistertriggertype", id: "tick" });
    await settled(owner);
    // The connection still finishes its last calls.
    clock.advance(60_000);
    owner.close();
    await owner.closed;
    clock.advance(60_000);
    const guest = await engine.connectWorker({ access: accessTo(settings()) });
    guest.say({ type: "registerfunction", id: "payments::charge" });
    expect(await refused(guest)).toEqual(["registerfunction", "payments::charge", "registration_refused"]);
    guest.say({ type: "registertriggertype", id: "tick", description: "" });
    expect(await refused(guest)).toEqual(["registertriggertype", "tick", "registration_refused"]);
  });

  it("cannot take a function that a trigger of a trusted worker calls, while nobody provides it, but can below its own prefix", async () => {
    const engine = await start({ modules: [ticks] });
    const owner = await engine.connectWorker();
    for (const id of ["orders::late", "acme::greet"]) owner.say(trigger(id, {}));
    await settled(owner);
    const guest = await engine.connectWorker({ access: accessTo(settings()) });
    guest.say({ type: "registerfunction", id: "orders::late" });
    expect(await guest.next()).toMatchObject({
      type: "error",
      error: { message: expect.stringContaining("is called by a trigger of a trusted worker") },
    });
    const tenant = await engine.connectWorker({
      access: accessTo(settings(), granted({ function_registration_prefix: "acme" })),
    });
    tenant.say({ type: "registerfunction", id: "greet" });
    await settled(tenant);
    expect(engine.directory.functions().map((view) => view.function_id)).toEqual(["acme::greet"]);
  });

  it("cannot take a function that a trigger of a trusted worker cannot do without, nor keep it", async () => {
    const engine = await start({ modules: [ticks] });
    const guest = await engine.connectWorker({ access: accessTo(settings()) });
    guest.serve("may::pay", () => true);
    guest.say(trigger("own", { condition_function_id: "may::refund" }));
    await settled(guest);
    const owner = await engine.connectWorker();
    owner.serve("pay", () => "paid");
    owner.say(trigger("pay", { condition_function_id: "may::pay" }));
    await settled(owner);
    expect(await refused(guest)).toEqual(["registerfunction", "may::pay", "registration_refused"]);
    expect(engine.directory.functionById("may::pay")).toBeUndefined();
    guest.say({ type: "registerfunction", id: "may::pay" });
    expect(await refused(guest)).toEqual(["registerfunction", "may::pay", "FORBIDDEN"]);
    // Its own triggers may have conditions.
    guest.serve("may::refund", () => true);
    await settled(guest);
    expect(engine.directory.functionById("may::refund")).toBeDefined();
  });

  it("of trigger types cannot take over another owner's", async () => {
    const engine = await start();
    const owner = await engine.connectWorker();
    owner.say({ type: "registertriggertype", id: "tick", description: "" });
    await settled(owner);
    const guest = await engine.connectWorker({
      access: accessTo(settings(), granted({ allow_trigger_type_registration: true })),
    });
    guest.say({ type: "registertriggertype", id: "tick", description: "mine" });
    expect(await guest.next()).toMatchObject({ type: "error", error: { code: "registration_refused" } });
    expect(engine.directory.triggerTypes()).toMatchObject([{ id: "tick", description: "" }]);
  });
});

describe("a restricted worker's trigger types (gap 56)", () => {
  it("give way to an unrestricted worker's, and do not stand by for them", async () => {
    const engine = await start();
    const guest = await engine.connectWorker({
      access: accessTo(settings(), granted({ allow_trigger_type_registration: true })),
    });
    guest.say({ type: "registertriggertype", id: "tick", description: "mine" });
    await settled(guest);
    const owner = await engine.connectWorker();
    owner.say({ type: "registertriggertype", id: "tick", description: "" });
    await settled(owner);
    expect(await guest.next()).toMatchObject({
      type: "error",
      error: { code: "registration_refused", details: { id: "tick" } },
    });
    const user = await engine.connectWorker();
    user.say({
      type: "registertrigger",
      id: crypto.randomUUID(),
      trigger_type: "tick",
      function_id: "f",
      config: { secret: 1 },
    });
    await owner.next((frame) => frame.type === "registertrigger");
    owner.close();
    await owner.closed;
    await settled(guest);
    expect(guest.received).toEqual([]);
    expect(engine.directory.triggerTypes()).toEqual([]);
  });
});

describe("a restricted worker's trigger types (gap 56), for bindings of trusted workers", () => {
  it("do not receive them, whichever is registered first", async () => {
    const engine = await start();
    const guest = await engine.connectWorker({
      access: accessTo(settings(), granted({ allow_trigger_type_registration: true })),
    });
    const owner = await engine.connectWorker({ features: ["registration_results"] });
    owner.say(trigger("pay", { secret: 1 }, "early"));
    await owner.next((frame) => frame.type === "triggerregistrationresult");
    for (const id of ["early", "late"]) guest.say({ type: "registertriggertype", id, description: "" });
    guest.say({ type: "registerfunction", id: "own" });
    guest.say(trigger("own", { mine: 1 }, "late"));
    await settled(guest);
    owner.say(trigger("pay", { secret: 1 }, "late"));
    expect(await owner.next((frame) => frame.trigger_type === "late")).toMatchObject({
      status: "inactive",
      reason:
        "only a restricted connection provides the trigger type late; it does not receive bindings of trusted workers",
    });
    await settled(guest);
    expect(guest.received.filter((frame) => frame.includes('"registertrigger"'))).toMatchObject([
      expect.stringContaining('"mine":1'),
    ]);
  });
});

describe("a restricted worker's triggers (gap 56)", () => {
  it("below its prefix bind what nobody has, not what a trusted worker provides there", async () => {
    const engine = await start();
    const owner = await engine.connectWorker();
    owner.serve("acme::trusted", () => 1);
    await settled(owner);
    const guest = await engine.connectWorker({
      access: accessTo(settings(), granted({ function_registration_prefix: "acme" })),
    });
    guest.say(trigger("trusted"));
    expect(await guest.next()).toMatchObject({
      type: "triggerregistrationresult",
      function_id: "trusted",
      error: { code: "FORBIDDEN" },
    });
    guest.say(trigger("mine", { condition_function_id: "acme::trusted" }));
    expect(await guest.next()).toMatchObject({
      error: { code: "FORBIDDEN", message: expect.stringContaining("acme::trusted") },
    });
    guest.say(trigger("later"));
    expect(await guest.next()).toMatchObject({ function_id: "later", status: "inactive" });
  });

  it("bind its own functions and those that it may call, and none else", async () => {
    const engine = await start();
    const owner = await engine.connectWorker();
    owner.serve("secret", () => 1);
    owner.serve("api::open", () => 1);
    await settled(owner);
    const guest = await engine.connectWorker({
      access: accessTo(settings({ rbac: rbac({ exposeFunctions: ["match('api::*')"] }) })),
    });
    guest.say({ type: "registerfunction", id: "mine" });
    guest.say(trigger("mine"));
    expect(await guest.next()).toMatchObject({ status: "inactive" });
    guest.say(trigger("api::open"));
    expect(await guest.next()).toMatchObject({ status: "inactive" });
    guest.say(trigger("secret"));
    expect(await guest.next()).toMatchObject({
      type: "triggerregistrationresult",
      function_id: "secret",
      error: { code: "FORBIDDEN" },
    });
    guest.say(trigger("mine", { condition_function_id: "secret" }));
    expect(await guest.next()).toMatchObject({
      error: { code: "FORBIDDEN", message: expect.stringContaining("'secret'") },
    });
    guest.say(trigger("mine", { middleware_function_ids: ["api::open", "secret"] }));
    expect(await guest.next()).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect(engine.directory.triggers()).toHaveLength(2);
  });

  it("bind no function of the engine, which would run with the engine's rights, nor one that a module may provide later", async () => {
    const engine = await start();
    const guest = await engine.connectWorker({
      access: accessTo(settings(), granted({ allowed_functions: ["match('*')", "engine::workers::list"] })),
    });
    guest.say({ type: "registerfunction", id: "mine" });
    for (const id of ["engine::workers::list", "state::set", "queue::redrive", "publish"]) {
      guest.say(trigger(id));
      expect(await guest.next()).toMatchObject({
        function_id: id,
        error: { code: "FORBIDDEN", message: expect.stringContaining("its own rights") },
      });
      guest.say(trigger("mine", { condition_function_id: id }));
      expect(await guest.next()).toMatchObject({ function_id: "mine", error: { code: "FORBIDDEN" } });
    }
    guest.say(trigger("mine"));
    expect(await guest.next()).toMatchObject({ function_id: "mine", status: "inactive" });
  });

  it("provide no function of the engine, also of modules that are not loaded", async () => {
    const engine = await start();
    const guest = await engine.connectWorker({ access: accessTo(settings()) });
    for (const id of [
      "publish",
      "state::set",
      "queue::enqueue",
      "worker::stop",
      "engine::anything",
      "iii::durable::publish",
    ]) {
      guest.say({ type: "registerfunction", id });
      expect(await refused(guest)).toEqual(["registerfunction", id, "FORBIDDEN"]);
    }
    // A trusted worker may replace a module.
    const owner = await engine.connectWorker();
    owner.serve("state::set", () => "owner");
    await settled(owner);
    expect(await engine.call("state::set")).toBe("owner");
  });

  it.each([
    ["by itself", (guest: InMemoryWorker) => guest.say(trigger("orders::wipe"))],
    [
      "as a condition",
      (guest: InMemoryWorker) => guest.say(trigger("mine", { condition_function_id: "orders::wipe" })),
    ],
  ])("go when a function that they name, %s, has become another's", async (_how, bind) => {
    const engine = await start();
    const guest = await engine.connectWorker({ access: accessTo(settings()) });
    for (const id of ["mine", "orders::wipe"]) guest.say({ type: "registerfunction", id });
    bind(guest);
    expect(await guest.next()).toMatchObject({ status: "inactive" });
    // It registers its own again, or unregisters it: the owner does not change.
    guest.say({ type: "registerfunction", id: "orders::wipe" });
    guest.say({ type: "unregisterfunction", id: "orders::wipe" });
    await settled(guest);
    expect(engine.directory.triggers()).toHaveLength(1);
    const owner = await engine.connectWorker();
    owner.serve("orders::wipe", () => "wiped");
    await settled(owner);
    expect(engine.directory.triggers()).toEqual([]);
    expect(await guest.next()).toMatchObject({
      type: "triggerregistrationresult",
      status: "error",
      error: { code: "FORBIDDEN", message: expect.stringContaining("'orders::wipe'") },
    });
  });

  it("call nothing more when a function that they name has become another's while a delivery waits, e.g. for the condition", async () => {
    const bindings: TriggerBinding<unknown>[] = [];
    const bell = defineModule({
      name: "bell",
      summary: "",
      config: z.unknown(),
      start({ provideTrigger }) {
        const bind = (binding: TriggerBinding<unknown>) => {
          bindings.push(binding);
          return () => {};
        };
        provideTrigger({ type: "bell", summary: "", settings: z.unknown(), bind });
        return { stop: () => {} };
      },
    });
    const engine = await start({ modules: [bell] });
    const guest = await engine.connectWorker({ access: accessTo(settings()) });
    const ran: string[] = [];
    guest.serve("payments::charge", () => void ran.push("guest"));
    guest.serve("guest::if", () => true);
    guest.say(trigger("payments::charge", { condition_function_id: "guest::if" }, "bell"));
    await settled(guest);
    const [binding] = bindings;
    expect(await binding?.passes(Payload.null)).toBe(true);
    expect(binding?.deferRefusal()).toBeUndefined();
    await binding?.fire(Payload.null);
    const owner = await engine.connectWorker();
    owner.serve("payments::charge", () => void ran.push("owner"));
    await settled(owner);
    const cancelled = {
      code: "call_cancelled",
      message: "a trigger of payments::charge was removed before it called",
      details: { executed: "no" },
    };
    await expect(binding?.fire(Payload.null)).rejects.toMatchObject(cancelled);
    await expect(binding?.passes(Payload.null)).rejects.toMatchObject(cancelled);
    await expect(binding?.call("payments::charge", Payload.null, {})).rejects.toMatchObject(cancelled);
    expect(binding?.deferRefusal()).toMatchObject(cancelled);
    expect(ran).toEqual(["guest"]);
  });

  it("use the allowed types only", async () => {
    const engine = await start();
    const guest = await engine.connectWorker({
      access: accessTo(settings(), granted({ allowed_trigger_types: ["http"] })),
    });
    guest.say({ type: "registerfunction", id: "mine" });
    guest.say(trigger("mine", {}, "cron"));
    expect(await guest.next()).toMatchObject({
      error: { code: "FORBIDDEN", message: expect.stringContaining("cron") },
    });
  });

  it("cannot be taken back by another, nor told other metadata", async () => {
    const engine = await start();
    const owner = await engine.connectWorker();
    owner.serve("api::open", (_data, frame) => frame.metadata);
    const own = { ...trigger("api::open"), metadata: { from: "owner" } };
    owner.say(own);
    await owner.next((frame) => frame.type === "triggerregistrationresult");
    const guest = await engine.connectWorker({
      access: accessTo(settings({ rbac: rbac({ exposeFunctions: ["match('api::*')"] }) })),
    });
    guest.say({ ...trigger("api::open"), metadata: { from: "guest" } });
    await guest.next();
    guest.say({ type: "unregistertrigger", id: own.id });
    await settled(guest);
    expect(engine.directory.triggers()).toMatchObject([{ id: own.id, metadata: { from: "owner" } }]);
  });
});

describe("a trigger that a restricted and an unrestricted worker ask for", () => {
  it("tells the function the unrestricted one's metadata, whoever came first (K2)", async () => {
    const engine = await start();
    const owner = await engine.connectWorker();
    owner.say({ type: "registerfunction", id: "api::open" });
    await settled(owner);
    const guest = await engine.connectWorker({
      access: accessTo(settings({ rbac: rbac({ exposeFunctions: ["match('api::*')"] }) })),
    });
    const ask = async (worker: InMemoryWorker, metadata?: unknown): Promise<unknown> => {
      worker.say({
        type: "registertrigger",
        id: crypto.randomUUID(),
        trigger_type: "tick",
        function_id: "api::open",
        config: {},
        metadata,
      });
      await worker.next((frame) => frame.type === "triggerregistrationresult");
      return engine.directory.triggers().map((view) => view.metadata);
    };
    expect(await ask(guest, { from: "guest" })).toEqual([{ from: "guest" }]);
    expect(await ask(owner)).toEqual([null]);
    expect(await ask(guest, { from: "guest again" })).toEqual([null]);
    expect(await ask(owner, { from: "owner" })).toEqual([{ from: "owner" }]);
    expect(await ask(owner)).toEqual([{ from: "owner" }]);
  });
});

describe("a registration hook", () => {
  const hooked = settings({
    rbac: rbac({
      onFunctionRegistrationFunctionId: "hook::function",
      onTriggerRegistrationFunctionId: "hook::trigger",
      onTriggerTypeRegistrationFunctionId: "hook::type",
    }),
  });

  it("sees the registration with the connection's context, and may rewrite it; later frames wait for it in order", async () => {
    const engine = await start();
    const boss = await engine.connectWorker();
    const seen: unknown[] = [];
    boss.serve("hook::function", (data) => {
      seen.push(data);
      return { function_id: "renamed", description: "by the hook", metadata: { checked: true } };
    });
    await settled(boss);
    const guest = await engine.connectWorker({
      access: accessTo(hooked, granted({ context: { tenant: 7 }, allowed_functions: ["renamed"] })),
    });
    guest.serve("mine", (_data, frame) => frame.function_id);
    // Sent directly after the registration: the function must exist by then.
    expect(await guest.call("renamed")).toMatchObject({ result: "mine" });
    expect(seen).toEqual([{ function_id: "mine", description: null, metadata: null, context: { tenant: 7 } }]);
    expect(engine.directory.functionById("renamed")).toMatchObject({
      description: "by the hook",
      metadata: { checked: true },
    });
    guest.say({ type: "unregisterfunction", id: "mine" });
    await settled(guest);
    expect(engine.directory.functionById("renamed")).toBeUndefined();
  });

  it("may name a function otherwise each time: the worker's one function goes by the last name only, and goes when it takes it back", async () => {
    const engine = await start();
    const boss = await engine.connectWorker();
    let times = 0;
    boss.serve("hook::function", () => ({ function_id: `name${++times}` }));
    await settled(boss);
    const guest = await engine.connectWorker({ access: accessTo(hooked, granted({})) });
    const names = (): unknown[] =>
      engine.directory
        .functions()
        .flatMap(({ function_id, workers }) => (workers[0]?.id === guest.id ? [function_id] : []));
    for (const name of ["name1", "name2", "name3"]) {
      guest.say({ type: "registerfunction", id: "mine" });
      await settled(guest);
      expect(names()).toEqual([name]);
    }
    guest.say({ type: "unregisterfunction", id: "mine" });
    await settled(guest);
    expect(names()).toEqual([]);
  });

  it.each([
    ["answers nothing", () => null],
    ["answers true", () => true],
    ["answers a list", () => []],
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["returns invalid ids", () => ({ function_id: "", trigger_type_id: "", trigger_type: "" })],
  ])("denies when it %s", async (_what, answer) => {
    const engine = await start();
    const boss = await engine.connectWorker();
    for (const id of ["hook::function", "hook::trigger", "hook::type"]) boss.serve(id, answer);
    await settled(boss);
    const guest = await engine.connectWorker({
      access: accessTo(hooked, granted({ allow_trigger_type_registration: true })),
    });
    guest.say({ type: "registerfunction", id: "f" });
    expect(await guest.next()).toMatchObject({ error: { code: "FORBIDDEN", details: { id: "f" } } });
    guest.say({ type: "registertriggertype", id: "t", description: "" });
    expect(await guest.next()).toMatchObject({ error: { code: "FORBIDDEN", details: { id: "t" } } });
    guest.say({ type: "registertrigger", id: crypto.randomUUID(), trigger_type: "t", function_id: "f", config: null });
    expect(await guest.next()).toMatchObject({ type: "triggerregistrationresult", error: { code: "FORBIDDEN" } });
    expect(denials(engine)).toEqual(["f", "t", "f"]);
  });

  it("names the field when it returns an invalid id", async () => {
    const engine = await start();
    const boss = await engine.connectWorker();
    for (const id of ["hook::function", "hook::trigger", "hook::type"])
      boss.serve(id, () => ({ function_id: "", trigger_type_id: "" }));
    await settled(boss);
    const guest = await engine.connectWorker({
      access: accessTo(hooked, granted({ allow_trigger_type_registration: true })),
    });
    const message = (field: string): object => ({
      error: { message: expect.stringContaining(`the registration hook returned an invalid ${field}`) },
    });
    guest.say({ type: "registerfunction", id: "f" });
    expect(await guest.next()).toMatchObject(message("function_id"));
    guest.say({ type: "registertriggertype", id: "t", description: "" });
    expect(await guest.next()).toMatchObject(message("trigger_type_id"));
    guest.say({ type: "registertrigger", id: crypto.randomUUID(), trigger_type: "t", function_id: "f", config: null });
    expect(await guest.next()).toMatchObject(message("trigger_type or function_id"));
  });

  it("denies when nobody provides it, and after 10 s without an answer; the connection is not read from meanwhile", async () => {
    const clock = manualClock();
    const engine = await start({ clock });
    const guest = await engine.connectWorker({ access: accessTo(hooked, granted({})) });
    guest.say({ type: "registerfunction", id: "f" });
    expect(await guest.next()).toMatchObject({
      error: { code: "FORBIDDEN", message: expect.stringContaining("function_not_found") },
    });
    const boss = await engine.connectWorker();
    boss.say({ type: "registerfunction", id: "hook::function" });
    await settled(boss);
    guest.say({ type: "registerfunction", id: "g" });
    await boss.next((frame) => frame.function_id === "hook::function");
    expect(guest.paused).toBe(true);
    guest.say({ type: "ping" });
    clock.advance(10_100);
    expect(await guest.next()).toMatchObject({
      error: { code: "FORBIDDEN", message: expect.stringContaining("call_timeout") },
    });
    expect(await guest.next()).toMatchObject({ type: "pong" });
    expect(guest.paused).toBe(false);
  });

  it("is not gone around by way of a function that binds for its caller", async () => {
    const binder = defineModule({
      name: "binder",
      summary: "",
      config: z.unknown(),
      start(context) {
        context.provideFunction({
          id: "engine::bind",
          summary: "",
          input: z.unknown(),
          handle: (_input, { access }) =>
            access?.bindRefusal({ type: "tick", functionId: "mine", config: {} })?.message ?? "bound",
        });
        return { stop: () => {} };
      },
    });
    const engine = await start({ modules: [binder] });
    for (const [rules, answer] of [
      [settings(), "bound"],
      [
        hooked,
        "hook::trigger decides over the triggers of this connection: register them over it, with registertrigger",
      ],
    ] as const) {
      const guest = await engine.connectWorker({
        access: accessTo(rules, granted({ allowed_functions: ["engine::bind", "mine"] })),
      });
      expect(await guest.call("engine::bind")).toMatchObject({ result: answer });
    }
  });

  it("may rename a trigger type; its provider hears of bindings by its own name for it", async () => {
    const engine = await start();
    const boss = await engine.connectWorker();
    boss.serve("hook::type", () => ({ trigger_type_id: "acme.tick" }));
    boss.serve("hook::trigger", () => ({}));
    boss.serve("f", () => 1);
    await settled(boss);
    const guest = await engine.connectWorker({
      access: accessTo(hooked, granted({ allow_trigger_type_registration: true })),
    });
    guest.say({ type: "registertriggertype", id: "tick", description: "" });
    await settled(guest);
    const user = await engine.connectWorker({ access: accessTo(hooked, granted({ allowed_functions: ["f"] })) });
    user.say(trigger("f", { every: 1 }, "acme.tick"));
    const bind = await guest.next((frame) => frame.type === "registertrigger");
    expect(bind).toMatchObject({ trigger_type: "tick", function_id: "f" });
    guest.say({
      type: "triggerregistrationresult",
      id: bind.id,
      trigger_type: "tick",
      function_id: "f",
      error: { code: "x", message: "not today" },
    });
    await settled(guest);
    expect(engine.directory.triggerById(String(bind.id))).toMatchObject({ status: "error", reason: "not today" });
    guest.say({ type: "unregistertriggertype", id: "tick" });
    await settled(guest);
    expect(engine.directory.triggerTypes()).toEqual([]);
  });
});

describe("a middleware function", () => {
  const rules = settings({ rbac: rbac({ exposeFunctions: ["match('api::*')"] }), middlewareFunctionId: "mw" });

  async function site(grants = granted({ context: { tenant: 7 } })) {
    const engine = await start();
    const boss = await engine.connectWorker();
    const seen: unknown[] = [];
    boss.serve("api::double", (data) => Number(data) * 2);
    boss.serve("mw", async (data) => {
      seen.push(data);
      const { function_id, payload } = data as { function_id: string; payload: unknown };
      return { via: "mw", result: (await boss.call(function_id, payload)).result };
    });
    await settled(boss);
    const guest = await engine.connectWorker({ access: accessTo(rules, grants) });
    return { engine, boss, guest, seen };
  }

  it("is called in place of a permitted call and forwards it itself", async () => {
    const { guest, seen } = await site();
    expect(await guest.call("api::double", 21)).toMatchObject({
      function_id: "api::double",
      result: { via: "mw", result: 42 },
    });
    expect(seen).toEqual([{ function_id: "api::double", payload: 21, action: null, context: { tenant: 7 } }]);
  });

  it("is not asked about calls that are denied, nor about the engine's own functions", async () => {
    const { guest, seen } = await site();
    expect(codeOf(await guest.call("secret", 1))).toBe("FORBIDDEN");
    expect(codeOf(await guest.call("engine::channels::create", {}))).toBe("function_not_found");
    expect(seen).toEqual([]);
  });

  it("runs for void calls without an answer, and answers for jobs", async () => {
    const { guest, seen } = await site();
    guest.say({ type: "invokefunction", function_id: "api::double", action: { type: "void" }, data: 1 });
    const job = await guest.call("api::double", 2, { action: { type: "enqueue", queue: "q" } });
    expect(job).toMatchObject({ result: { via: "mw", result: 4 } });
    expect(seen).toMatchObject([
      { payload: 1, action: { type: "void" } },
      { payload: 2, action: { type: "enqueue", queue: "q" } },
    ]);
    await settled(guest);
    expect(guest.received).toEqual([]);
  });

  it("gets the payload's text unchanged, and a payload cannot pass for the rest of the question", async () => {
    const { guest, boss, seen } = await site();
    boss.say({ type: "registerfunction", id: "api::raw" });
    await settled(boss);
    const id = crypto.randomUUID();
    guest.send(
      `{"type":"invokefunction","invocation_id":"${id}","function_id":"api::double","data":{"big":12345678901234567890,"function_id":"secret","__proto__":{"context":1}}}`,
    );
    await guest.next((frame) => frame.invocation_id === id);
    expect(seen).toMatchObject([{ function_id: "api::double", context: { tenant: 7 } }]);
  });

  it("fails the call when nobody provides it", async () => {
    const engine = await start();
    const guest = await engine.connectWorker({ access: accessTo(rules) });
    const owner = await engine.connectWorker();
    owner.serve("api::x", () => 1);
    await settled(owner);
    expect(codeOf(await guest.call("api::x"))).toBe("function_not_found");
  });

  it("is not passed by over a trigger that shows what a function returns, also where a role may call the function", async () => {
    const engine = await start({ modules: [showing] });
    const rules = settings({ middlewareFunctionId: "mw" });
    const guest = await engine.connectWorker({
      access: accessTo(rules, granted({ allowed_functions: ["orders::list", "engine::functions::list"] })),
    });
    const owner = await engine.connectWorker();
    for (const id of ["mw", "orders::list"]) owner.serve(id, () => 1);
    await settled(owner);
    guest.serve("own", () => 1);
    for (const [shown, outcome] of [
      [
        "orders::list",
        { error: { code: "FORBIDDEN", message: expect.stringContaining("only through the middleware mw") } },
      ],
      // The middleware is not called for these.
      ["engine::functions::list", { status: "active" }],
      ["own", { status: "active" }],
    ] as const) {
      guest.say(trigger("own", { shown }, "shows"));
      expect([shown, await guest.next((frame) => frame.type === "triggerregistrationresult")]).toMatchObject([
        shown,
        outcome,
      ]);
    }
    // Functions that it may call through the middleware are listed.
    const listed = callerAccess(guest.id, engine.kernel)?.visible(engine.directory).functions();
    expect(listed?.map((view) => view.function_id)).toEqual(["orders::list", "own"]);
  });

  describe("on a listener without rbac", () => {
    const open = settings({ rbac: undefined, middlewareFunctionId: "mw" });

    async function openSite(modules: readonly Module<unknown>[] = []) {
      const engine = await start({ modules });
      engine.kernel.reservedIds.configure([open]);
      const boss = await engine.connectWorker();
      const asked: string[] = [];
      boss.serve("x", () => "x");
      boss.serve("mw", async (data) => {
        const { function_id, payload } = data as { function_id: string; payload: unknown };
        asked.push(function_id);
        return `mw ${String((await boss.call(function_id, payload)).result)}`;
      });
      await settled(boss);
      const guest = await engine.connectWorker({ access: accessTo(open, THROUGH_MIDDLEWARE) });
      return { engine, boss, guest, asked };
    }

    it("is called for every call, its own id among them", async () => {
      const { guest, asked } = await openSite();
      expect(await guest.call("x")).toMatchObject({ result: "mw x" });
      await guest.call("mw", { function_id: "x", context: { tenant: "forged" } });
      expect(asked[1]).toBe("mw");
    });

    it("cannot be provided by connections behind it, whichever is registered first", async () => {
      const { engine, boss, guest } = await openSite();
      guest.say({ type: "registerfunction", id: "mw" });
      expect(await refused(guest)).toEqual(["registerfunction", "mw", "FORBIDDEN"]);
      boss.close();
      guest.say({ type: "registerfunction", id: "mw" });
      expect(await refused(guest)).toEqual(["registerfunction", "mw", "FORBIDDEN"]);
      const back = await engine.connectWorker();
      back.serve("mw", () => "mw");
      await settled(back);
      for (let call = 0; call < 4; call++) expect(await guest.call("x")).toMatchObject({ result: "mw" });
    });

    it("is called for the engine's own functions too, except those that every client needs", async () => {
      const { guest, asked } = await openSite();
      const administration = [
        "engine::config::effective",
        "engine::logs::list",
        "engine::traces::clear",
        "engine::queue::purge",
        "worker::stop",
      ];
      for (const id of administration) await guest.call(id, {});
      expect(asked).toEqual(administration);
      await guest.call("engine::channels::create", {});
      expect(asked).toEqual(administration);
    });

    it("is called for a job, also when the queue's function is called by its own id", async () => {
      const { guest, asked } = await openSite();
      await guest.call("engine::queue::enqueue", { queue: "q", function_id: "x", data: 1 });
      expect(asked).toEqual(["engine::queue::enqueue"]);
    });

    it("is not passed by over a trigger: those may call functions of the connection itself only", async () => {
      const { engine, guest } = await openSite();
      guest.serve("own", () => 1);
      guest.say(trigger("x"));
      expect(await guest.next((frame) => frame.type === "triggerregistrationresult")).toMatchObject({
        function_id: "x",
        error: { code: "FORBIDDEN" },
      });
      guest.say(trigger("own"));
      guest.say(trigger("later"));
      await settled(guest);
      expect(engine.directory.triggers().map(({ function_id }) => function_id)).toEqual(["own", "later"]);
      const other = await engine.connectWorker();
      other.serve("later", () => 1);
      expect(await guest.next((frame) => frame.error !== undefined)).toMatchObject({
        function_id: "later",
        error: { code: "FORBIDDEN" },
      });
      expect(engine.directory.triggers().map(({ function_id }) => function_id)).toEqual(["own"]);
    });

    it("is not passed by over a trigger that shows what a function returns, nor over lists of functions", async () => {
      const { engine, guest } = await openSite([showing]);
      guest.serve("own", () => 1);
      const bound = async (shown: string) => {
        guest.say(trigger("own", { shown }, "shows"));
        return guest.next((frame) => frame.type === "triggerregistrationresult");
      };
      for (const shown of ["x", "not::there"])
        expect([shown, await bound(shown)]).toMatchObject([shown, { error: { code: "FORBIDDEN" } }]);
      for (const shown of ["own", "engine::log::info"])
        expect([shown, await bound(shown)]).toMatchObject([shown, { status: "active" }]);
      const visible = callerAccess(guest.id, engine.kernel)?.visible(engine.directory);
      expect(visible?.functions().map((view) => view.function_id)).toEqual(["own"]);
    });
  });
});

describe("what a restricted caller sees (gap 56)", () => {
  it("is its own, what it may call, and who provides that", async () => {
    const lists = defineModule({
      name: "lists",
      summary: "lists",
      config: z.unknown(),
      start(context) {
        context.provideFunction({
          id: "engine::everything",
          summary: "",
          input: z.unknown(),
          handle: (_input, { access }) => {
            const directory = access?.visible(context.directory) ?? context.directory;
            return {
              functions: directory.functions().map((view) => view.function_id),
              workers: directory.workers().map((view) => [view.name, view.functions, view.pid]),
              triggers: directory.triggers().map((view) => view.function_id),
              refusals: [
                access?.callRefusal("secret")?.code,
                access?.bindRefusal({ type: "tick", functionId: "secret", config: {} })?.code,
              ],
            };
          },
        });
        return { stop: () => {} };
      },
    });
    const engine = await start({ modules: [lists] });
    const owner = await engine.connectWorker({ name: "owner", pid: 4711 });
    owner.serve("secret", () => 1);
    owner.serve("api::open", () => 1);
    for (const function_id of ["secret", "api::open"])
      owner.say({ type: "registertrigger", id: crypto.randomUUID(), trigger_type: "tick", function_id, config: {} });
    const hidden = await engine.connectWorker({ name: "hidden" });
    hidden.serve("hidden::f", () => 1);
    await settled(owner);
    await settled(hidden);
    const guest = await engine.connectWorker({
      name: "guest",
      access: accessTo(
        settings({ rbac: rbac({ exposeFunctions: ["match('api::*')"] }) }),
        granted({ allowed_functions: ["engine::everything"] }),
      ),
    });
    guest.serve("mine", () => 1);
    expect((await guest.call("engine::everything")).result).toEqual({
      functions: ["api::open", "engine::everything", "mine"],
      workers: [
        ["guest", ["mine"], null],
        ["lists", ["engine::everything"], null],
        ["owner", ["api::open"], null],
      ],
      triggers: ["api::open"],
      refusals: ["FORBIDDEN", "FORBIDDEN"],
    });
    expect(((await owner.call("engine::everything")).result as { functions: string[] }).functions).toContain("secret");
  });
});

describe("a worker that pretends to be another (K2)", () => {
  it("says no member svc of the metadata of its calls and triggers, which only the engine says", async () => {
    const engine = await start();
    const owner = await engine.connectWorker();
    owner.serve("read", (_data, frame) => frame.metadata);
    await settled(owner);
    const guest = await engine.connectWorker({
      access: accessTo(settings({ rbac: rbac({ exposeFunctions: ['match("read")'] }) })),
    });
    for (const worker of [owner, guest]) {
      expect((await worker.call("read", 1, { metadata: { svc: { job: { id: "forged" } }, own: 1 } })).result).toEqual({
        own: 1,
      });
      expect((await worker.call("read", 1, { metadata: { own: "svc" } })).result).toEqual({ own: "svc" });
    }
    const id = crypto.randomUUID();
    guest.send(
      `{"type":"invokefunction","invocation_id":"${id}","function_id":"read","metadata":{"\\u0073vc":{"topic":"forged"},"own":2},"data":1}`,
    );
    expect(await guest.next((frame) => frame.invocation_id === id)).toMatchObject({ error: null, result: { own: 2 } });
    guest.say({ ...trigger("read"), metadata: { svc: { topic: "forged" }, own: 3 } });
    await guest.next((frame) => frame.type === "triggerregistrationresult");
    expect(engine.directory.triggers().map(({ metadata }) => metadata)).toEqual([{ own: 3 }]);
  });

  it("is listed as a worker, if it is restricted, though it says that it is the console or the CLI", async () => {
    const engine = await start();
    const guests = ["console", "cli"].map((kind) =>
      engine.connectWorker({ name: kind, kind, access: accessTo(settings()) }),
    );
    for (const guest of guests) await settled(await guest);
    const page = await engine.connectWorker({ name: "page", kind: "console" });
    await settled(page);
    const listed = engine.directory.workers().map(({ name, kind, internal }) => [name, kind, internal]);
    expect(listed).toEqual([
      ["cli", "worker", false],
      ["console", "worker", false],
      ["page", "console", true],
    ]);
  });
});
