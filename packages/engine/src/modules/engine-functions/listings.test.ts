import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ANONYMOUS } from "../../access/grants.ts";
import { policyOf } from "../../access/policy.ts";
import { SessionAccess } from "../../access/session-access.ts";
import { defineModule } from "../../kernel/module.ts";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine } from "../../testing/index.ts";
import { type EngineInfo, engineFunctions } from "./index.ts";

const INFO = { version: "0.0.0" } as EngineInfo;

/** Provides the type `bell`. */
const bell = defineModule({
  name: "svc-bell",
  summary: "Rings",
  config: z.unknown(),
  start({ provideTrigger }) {
    provideTrigger({ type: "bell", summary: "Rings", settings: z.object({ name: z.string() }), bind: () => () => {} });
    return { stop: () => {} };
  },
});

const FORMAT = { type: "object", properties: { a: { type: "number" } } };

function mayCall(pattern: string): SessionAccess {
  const rule = { authFunctionId: undefined, exposeFunctions: [`match("${pattern}")`], roles: [], tokens: [] };
  const hooks = {
    onFunctionRegistrationFunctionId: undefined,
    onTriggerRegistrationFunctionId: undefined,
    onTriggerTypeRegistrationFunctionId: undefined,
  };
  return new SessionAccess(
    ANONYMOUS,
    policyOf({ tokenRequired: false, rbac: { ...rule, ...hooks }, middlewareFunctionId: undefined }),
  );
}

interface Scene {
  readonly engine: InMemoryEngine;
  /** One of each client version. */
  readonly clients: Readonly<Record<"old" | "new" | "ours", InMemoryWorker>>;
  /** Calls a function and resolves with the result. */
  ask(client: keyof Scene["clients"], functionId: string, input?: unknown): Promise<Record<string, unknown>>;
}

/** A worker `shop` with two functions, one internal, and one trigger; and a caller of each client. */
async function scene(options: { readonly access?: SessionAccess } = {}): Promise<Scene> {
  const engine = await inMemoryEngine({ modules: [engineFunctions(() => INFO), bell] });
  const shop = await engine.connectWorker({ name: "shop", runtime: "python", pid: 77, version: "1.2.3" });
  shop.say({
    type: "registerfunction",
    id: "shop::pay",
    description: "Takes money",
    request_format: FORMAT,
    metadata: { team: "till" },
  });
  shop.say({ type: "registerfunction", id: "shop::audit", metadata: { internal: true } });
  shop.say({
    type: "registertrigger",
    id: "t1",
    trigger_type: "bell",
    function_id: "shop::pay",
    config: { name: "front" },
    metadata: { m: 1 },
  });
  await shop.next((frame) => frame.type === "triggerregistrationresult");
  const clients = {
    old: await engine.connectWorker({ name: "old", features: [], runtime: "node", pid: 1, version: "0.11.6" }),
    new: await engine.connectWorker({
      name: "new",
      features: [],
      runtime: "node",
      pid: 2,
      version: "0.22.1",
      ...options,
    }),
    ours: await engine.connectWorker({ name: "ours", pid: 3, version: "0.1.0" }),
  };
  return {
    engine,
    clients,
    ask: async (client, functionId, input = {}) => {
      const { result, error } = await clients[client].call(functionId, input);
      if (error) throw error;
      return result as Record<string, unknown>;
    },
  };
}

const refusal = (code: string, message: string) => expect.objectContaining({ code, message });

describe("engine::functions::list", () => {
  it("has the shape that each client expects", async () => {
    const { ask } = await scene();
    const row = { function_id: "shop::pay", description: "Takes money", metadata: { team: "till" } };
    expect(await ask("old", "engine::functions::list")).toEqual({
      functions: [{ ...row, request_format: FORMAT, response_format: null }],
    });
    expect(await ask("new", "engine::functions::list")).toEqual({ functions: [{ ...row, worker_name: "shop" }] });
    expect(await ask("ours", "engine::functions::list")).toMatchObject({
      functions: [
        {
          ...row,
          worker_name: "shop",
          request_format: FORMAT,
          status: "available",
          workers: [{ name: "shop" }],
          triggers: [{ id: "t1", type: "bell" }],
        },
      ],
    });
  });

  it("leaves out internal functions unless asked, and takes a call without a payload", async () => {
    const { ask, clients } = await scene();
    const { functions } = (await ask("ours", "engine::functions::list", { include_internal: true })) as {
      functions: { function_id: string }[];
    };
    const ids = functions.map(({ function_id }) => function_id);
    expect(ids).toContain("shop::audit");
    expect(ids).toContain("engine::functions::list");
    clients.ours.say({
      type: "invokefunction",
      invocation_id: "7a3b6a52-1111-4111-8111-111111111111",
      function_id: "engine::functions::list",
    });
    expect(await clients.ours.next((frame) => frame.type === "invocationresult")).toMatchObject({
      result: { functions: [{ function_id: "shop::pay" }] },
    });
  });

  it("filters by prefix and worker, and puts the best find first", async () => {
    const { ask, engine } = await scene();
    const more = await engine.connectWorker({ name: "more" });
    for (const id of ["pay", "pay::refund", "bank::payout", "bank::prepay", "audit::log"]) {
      more.say({ type: "registerfunction", id, ...(id === "audit::log" ? { description: "What was payed" } : {}) });
    }
    more.say({ type: "ping" });
    await more.next((frame) => frame.type === "pong");
    const idsOf = async (input: object): Promise<unknown[]> =>
      ((await ask("new", "engine::functions::list", input)).functions as { function_id: string }[]).map(
        ({ function_id }) => function_id,
      );
    expect(await idsOf({ search: "pay" })).toEqual([
      "pay",
      "pay::refund",
      "bank::payout",
      "shop::pay",
      "bank::prepay",
      "audit::log",
    ]);
    expect(await idsOf({ prefix: "bank::" })).toEqual(["bank::payout", "bank::prepay"]);
    expect(await idsOf({ worker: "shop" })).toEqual(["shop::pay"]);
    expect(await idsOf({ workers: ["shop", "none"] })).toEqual(["shop::pay"]);
  });
});

describe("engine::functions::info", () => {
  const published = {
    function_id: "shop::pay",
    worker_name: "shop",
    description: "Takes money",
    request_schema: FORMAT,
    metadata: { team: "till" },
    registered_triggers: [{ id: "t1", trigger_type: "bell", config: { name: "front" } }],
  };

  it("tells of one function, or of several at once", async () => {
    const { ask } = await scene();
    expect(await ask("new", "engine::functions::info", { function_id: "shop::pay" })).toEqual(published);
    expect(await ask("ours", "engine::functions::info", { function_id: "shop::pay" })).toMatchObject({
      ...published,
      status: "available",
    });
    expect(await ask("new", "engine::functions::info", { function_ids: ["shop::pay", "nope"] })).toEqual({
      functions: [published, { function_id: "nope", error: "not_found" }],
    });
  });

  it("refuses what it cannot answer by the published codes and sentences", async () => {
    const { ask } = await scene();
    const info = (input: object): Promise<unknown> => ask("new", "engine::functions::info", input);
    await expect(info({ function_id: "nope" })).rejects.toEqual(
      refusal("NOT_FOUND", "Function 'nope' is not registered."),
    );
    for (const input of [
      {},
      { function_id: "a", function_ids: ["b"] },
      { function_ids: [] },
      { function_ids: Array.from({ length: 33 }, () => "a") },
    ]) {
      await expect(info(input)).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
    }
    expect(await info({ function_ids: Array.from({ length: 32 }, () => "a") })).toMatchObject({
      functions: { length: 32 },
    });
  });
});

describe("engine::workers::list", () => {
  it("has the shape that each client expects", async () => {
    const { ask } = await scene();
    const { workers, timestamp } = (await ask("old", "engine::workers::list")) as {
      workers: { name: string }[];
      timestamp: number;
    };
    expect(timestamp).toBeGreaterThan(0);
    const [row] = workers.filter(({ name }) => name === "shop");
    const published = {
      name: "shop",
      runtime: "python",
      version: "1.2.3",
      os: null,
      ip_address: "127.0.0.1",
      status: "connected",
      isolation: null,
      function_count: 2,
    };
    expect(row).toEqual({
      ...published,
      id: expect.any(String),
      internal: false,
      connected_at_ms: expect.any(Number),
      functions: ["shop::audit", "shop::pay"],
      active_invocations: 0,
      latest_metrics: null,
      pid: 77,
    });
    const listed = (await ask("new", "engine::workers::list", { search: "shop" })) as { workers: object[] };
    expect(listed).toEqual({
      workers: [
        {
          ...published,
          description: null,
          id: expect.any(String),
          connected_at_ms: expect.any(Number),
          active_invocations: 0,
        },
      ],
    });
    expect(await ask("ours", "engine::workers::list", { runtime: "python" })).toMatchObject({
      workers: [{ ...published, pid: 77, features: expect.any(Array), configured_worker: null }],
    });
  });

  it("hides workers without a process id from published clients, and modules from all unless asked", async () => {
    const { ask, engine } = await scene();
    await engine.connectWorker({ name: "in-a-browser" });
    const namesOf = async (client: "new" | "ours", input: object = {}): Promise<string[]> =>
      ((await ask(client, "engine::workers::list", input)).workers as { name: string }[]).map(({ name }) => name);
    expect(await namesOf("new")).toEqual(["new", "old", "ours", "shop"]);
    expect(await namesOf("ours")).toEqual(["in-a-browser", "new", "old", "ours", "shop"]);
    expect(await namesOf("ours", { include_internal: true })).toContain("svc-bell");
  });
});

describe("engine::workers::info", () => {
  it("tells of a worker with all it has", async () => {
    const { ask, clients } = await scene();
    clients.ours.say({ type: "registertriggertype", id: "gong", description: "Sounds" });
    const info = await ask("new", "engine::workers::info", { name: "shop" });
    expect(info).toMatchObject({
      worker: { name: "shop", pid: 77, internal: false },
      functions: [{ function_id: "shop::audit" }, { function_id: "shop::pay" }],
      trigger_types: [],
      registered_triggers: [{ id: "t1", trigger_type: "bell", config_summary: '{"name":"front"}' }],
    });
    expect(await ask("ours", "engine::workers::info", { name: "ours" })).toMatchObject({
      trigger_types: [{ id: "gong", description: "Sounds" }],
    });
    await expect(ask("new", "engine::workers::info", { name: "nobody" })).rejects.toEqual(
      refusal("NOT_FOUND", "Worker 'nobody' is not connected."),
    );
  });
});

describe("engine::triggers::list", () => {
  it("lists triggers to 0.11, and trigger types to later clients", async () => {
    const { ask } = await scene();
    expect(await ask("old", "engine::triggers::list")).toEqual({
      triggers: [
        { id: "t1", trigger_type: "bell", function_id: "shop::pay", config: { name: "front" }, metadata: { m: 1 } },
      ],
    });
    expect(await ask("new", "engine::triggers::list")).toEqual({
      triggers: [{ id: "bell", worker_name: "svc-bell", description: "Rings" }],
    });
    expect(await ask("ours", "engine::triggers::list")).toMatchObject({
      triggers: [{ id: "bell", worker_name: "svc-bell", instance_count: 1, validated: true }],
    });
  });

  it("shows the engine's own types when asked", async () => {
    const { ask } = await scene();
    const { triggers } = (await ask("new", "engine::triggers::list", { include_internal: true })) as {
      triggers: { id: string }[];
    };
    expect(triggers.map(({ id }) => id)).toEqual(["bell", "engine::functions-available", "engine::workers-available"]);
  });
});

describe("engine::trigger-types::list and engine::triggers::info", () => {
  it("show a type's formats under the names that each client knows", async () => {
    const { ask } = await scene();
    const { trigger_types } = (await ask("old", "engine::trigger-types::list")) as { trigger_types: object[] };
    expect(trigger_types).toEqual([
      { id: "bell", description: "Rings", trigger_request_format: expect.objectContaining({ type: "object" }) },
    ]);
    expect(await ask("new", "engine::triggers::info", { id: "bell" })).toEqual({
      id: "bell",
      worker_name: "svc-bell",
      description: "Rings",
      configuration_schema: expect.objectContaining({ type: "object" }),
      instance_count: 1,
    });
    expect(await ask("ours", "engine::triggers::info", { id: "bell" })).toMatchObject({
      workers: [{ name: "svc-bell" }],
      configuration_schema: { type: "object" },
    });
    await expect(ask("new", "engine::triggers::info", { id: "gong" })).rejects.toEqual(
      refusal("NOT_FOUND", "Trigger type 'gong' is not registered in namespace 'default'."),
    );
  });
});

describe("engine::registered-triggers::*", () => {
  const row = {
    id: "t1",
    trigger_type: "bell",
    function_id: "shop::pay",
    worker_name: "shop",
    config: { name: "front" },
  };

  it("list triggers, with their status to our clients", async () => {
    const { ask } = await scene();
    expect(await ask("new", "engine::registered-triggers::list")).toEqual({
      registered_triggers: [{ ...row, config_summary: '{"name":"front"}' }],
    });
    expect(
      await ask("ours", "engine::registered-triggers::list", { trigger_type: "bell", worker: "shop" }),
    ).toMatchObject({
      registered_triggers: [{ ...row, status: "active", reason: null }],
    });
    expect(await ask("ours", "engine::registered-triggers::list", { function_id: "other" })).toEqual({
      registered_triggers: [],
      total: 0,
    });
  });

  it("tell of one with its type and its function", async () => {
    const { ask } = await scene();
    expect(await ask("new", "engine::registered-triggers::info", { id: "t1" })).toEqual({
      ...row,
      metadata: { m: 1 },
      trigger: expect.objectContaining({ id: "bell" }),
      function: expect.objectContaining({ function_id: "shop::pay" }),
    });
    await expect(ask("new", "engine::registered-triggers::info", { id: "t9" })).rejects.toEqual(
      refusal("NOT_FOUND", "Registered trigger 't9' was not found."),
    );
  });
});

describe("every listing", () => {
  it("shows a restricted caller only what it may know of (gap 56)", async () => {
    const { engine, ask } = await scene({ access: mayCall("engine::*") });
    expect(JSON.stringify(await ask("new", "engine::functions::list", { include_internal: true }))).not.toContain(
      "shop::pay",
    );
    expect(await ask("new", "engine::functions::info", { function_ids: ["shop::pay"] })).toEqual({
      functions: [{ function_id: "shop::pay", error: "forbidden" }],
    });
    await expect(ask("new", "engine::functions::info", { function_id: "shop::pay" })).rejects.toEqual(
      refusal("FORBIDDEN", "Function 'shop::pay' is not visible to this session."),
    );
    expect(await ask("new", "engine::registered-triggers::list")).toEqual({ registered_triggers: [] });
    await expect(ask("new", "engine::registered-triggers::info", { id: "t1" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    await expect(ask("new", "engine::workers::info", { name: "shop" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(
      ask("new", "engine::register_trigger", {
        trigger_type: "bell",
        function_id: "shop::pay",
        config: { name: "back" },
      }),
    ).rejects.toMatchObject({
      code: "FORBIDDEN",
    });
    const { id } = await ask("ours", "engine::register_trigger", {
      trigger_type: "bell",
      function_id: "shop::pay",
      config: { name: "back" },
    });
    await expect(ask("new", "engine::unregister_trigger", { id })).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(engine.directory.triggers()).toHaveLength(2);
    expect(JSON.stringify(await ask("ours", "engine::functions::list"))).toContain("shop::pay");
  });

  it("answers a caller that has not said who it is, too", async () => {
    const { engine } = await scene();
    const stranger = await engine.connectWorker({ features: [] });
    expect(await stranger.call("engine::triggers::list")).toMatchObject({
      result: { triggers: [{ id: "bell", worker_name: "svc-bell" }] },
    });
  });
});

describe("a caller's own words", () => {
  it("do not hold who it is: the payload stays as it was sent, and the caller travels beside it (gap 57)", async () => {
    const { engine, clients } = await scene();
    const seen: Record<string, unknown>[] = [];
    for (const client of [clients.old, clients.ours]) {
      const id = `echo::${seen.length}`;
      client.serve(id, (_data, frame) => seen.push(frame));
      await clients.new.call(id, { a: 1 });
    }
    expect(seen.map(({ data }) => data)).toEqual([{ a: 1 }, { a: 1 }]);
    expect(seen[0]).not.toHaveProperty("caller");
    expect(seen[1]).toMatchObject({ caller: { worker_id: clients.new.id, name: "new" } });
    expect(engine.logs.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("a listing that does not fit into one frame", () => {
  it("is answered page by page to our clients, and cut for published ones, so that nobody can make it fail", async () => {
    const { engine, ask } = await scene();
    const large = await engine.connectWorker({ name: "large" });
    const count = 24;
    for (let n = 0; n < count; n++)
      large.say({ type: "registerfunction", id: `large::${n}`, description: "x".repeat(900_000) });
    large.say({ type: "ping" });
    await large.next((frame) => frame.type === "pong");
    const ids: string[] = [];
    const sizes: number[] = [];
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const answer: Record<string, unknown> = await ask("ours", "engine::functions::list", {
        prefix: "large::",
        offset,
      });
      expect(answer.total).toBe(count);
      ids.push(...(answer.functions as { function_id: string }[]).map(({ function_id }) => function_id));
      sizes.push(JSON.stringify(answer).length);
      offset = answer.next_offset as number | undefined;
    }
    expect(ids.sort()).toEqual(Array.from({ length: count }, (_, n) => `large::${n}`).sort());
    expect(Math.max(...sizes)).toBeLessThan(9 * 1024 * 1024);
    const published = await ask("new", "engine::functions::list", { prefix: "large::" });
    expect(Object.keys(published)).toEqual(["functions"]);
    expect((published.functions as unknown[]).length).toBeGreaterThan(0);
    expect((await ask("ours", "engine::functions::list", { prefix: "large::", limit: 2, offset: 1 })).next_offset).toBe(
      3,
    );
  });
});
