import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type InMemoryWorker, inMemoryEngine, manualClock } from "../testing/index.ts";
import { JsonSchemaChecks } from "../validation/index.ts";
import { defineModule } from "./module.ts";

// Trigger types of workers: protocol 6.1 and 6.2, statements 29 to 33.

const FORMAT = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

async function scene(client: { readonly features?: [] } = {}) {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock, formats: new JsonSchemaChecks(() => false) });
  return {
    engine,
    clock,
    provider: await engine.connectWorker({ name: "tower", ...client }),
    asker: await engine.connectWorker({ name: "asker" }),
    status: (id: string): unknown => {
      const view = engine.directory.triggerById(id);
      return view === undefined ? undefined : [view.status, view.reason];
    },
  };
}

async function settled(...workers: InMemoryWorker[]): Promise<void> {
  for (const worker of workers) {
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
  }
}

const provide = (worker: InMemoryWorker, more: object = {}): void =>
  worker.say({ type: "registertriggertype", id: "bell", description: "rings", ...more });
const bind = (worker: InMemoryWorker, id: string, config: unknown = { name: "front" }, more: object = {}): void =>
  worker.say({ type: "registertrigger", id, trigger_type: "bell", function_id: "ring", config, ...more });
const delivered = (worker: InMemoryWorker, id: string) =>
  worker.next((frame) => frame.type === "registertrigger" && frame.id === id);
const takenBack = (worker: InMemoryWorker, id: string) =>
  worker.next((frame) => frame.type === "unregistertrigger" && frame.id === id);
const told = (worker: InMemoryWorker, id: string) =>
  worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
const confirm = (worker: InMemoryWorker, id: string, error?: object): void =>
  worker.say({
    type: "triggerregistrationresult",
    id,
    trigger_type: "bell",
    function_id: "ring",
    ...(error === undefined ? {} : { error }),
  });

describe("a binding of a worker's type", () => {
  it("is delivered with its config and metadata, and answered once the provider has answered (gap 52)", async () => {
    const { provider, asker, status } = await scene();
    asker.say({ type: "registerfunction", id: "ring" });
    provide(provider);
    await settled(provider);
    bind(asker, "t1", { name: "front" }, { metadata: { m: 1 } });
    expect(await delivered(provider, "t1")).toEqual({
      type: "registertrigger",
      id: "t1",
      trigger_type: "bell",
      function_id: "ring",
      config: { name: "front" },
      metadata: { m: 1 },
    });
    await settled(asker);
    expect(status("t1")).toEqual(["active", "the worker tower has not confirmed it"]);
    confirm(provider, "t1");
    expect(await told(asker, "t1")).toMatchObject({ status: "active" });
    expect(status("t1")).toEqual(["active", null]);
  });

  it("is answered after 10 s though the provider says nothing (gap 52)", async () => {
    const { clock, provider, asker } = await scene();
    asker.say({ type: "registerfunction", id: "ring" });
    provide(provider);
    await settled(provider);
    bind(asker, "t1");
    await settled(asker);
    clock.advance(10_000);
    expect(await told(asker, "t1")).toMatchObject({
      status: "active",
      reason: "the worker tower has not confirmed it",
    });
  });

  it("refused by the provider is parked in error, told to every asker, and tried again when somebody asks anew", async () => {
    const { engine, provider, asker, status } = await scene();
    const published = await engine.connectWorker({ name: "published", features: [] });
    provide(provider);
    await settled(provider);
    bind(asker, "t1");
    bind(published, "t2");
    await delivered(provider, "t1");
    await settled(published);
    confirm(provider, "t1", { code: "trigger_registration_failed", message: "no such bell" });
    expect(await told(asker, "t1")).toMatchObject({
      status: "error",
      error: { code: "trigger_registration_failed", message: "no such bell" },
    });
    const wire = await told(published, "t2");
    expect(wire).toMatchObject({ error: { code: "trigger_registration_failed", message: "no such bell" } });
    expect(wire).not.toHaveProperty("status");
    expect(status("t1")).toEqual(["error", "no such bell"]);
    const third = await engine.connectWorker();
    bind(third, "t3");
    await delivered(provider, "t1");
    confirm(provider, "t1");
    expect(await told(third, "t3")).not.toMatchObject({ status: "error" });
  });

  it("refused by the provider is not taken back from it, since it never had it", async () => {
    const { provider, asker } = await scene();
    provide(provider);
    await settled(provider);
    bind(asker, "t1", { name: "a" });
    bind(asker, "t2", { name: "b" });
    await delivered(provider, "t2");
    confirm(provider, "t1", { code: "x", message: "no" });
    confirm(provider, "t2");
    await settled(provider);
    asker.close();
    // The frame for t1 would have arrived first.
    expect(await provider.next((frame) => frame.type === "unregistertrigger")).toMatchObject({ id: "t2" });
  });

  it("waits without any error until its type comes, and is delivered then (gap 51)", async () => {
    const { engine, provider, asker, status } = await scene();
    const published = await engine.connectWorker({ name: "published", features: [] });
    bind(asker, "t1");
    bind(published, "t2", { name: "back" });
    expect(await told(asker, "t1")).toMatchObject({
      status: "inactive",
      reason: "no one provides the trigger type bell",
    });
    await settled(published);
    provide(provider);
    await delivered(provider, "t1");
    await delivered(provider, "t2");
    confirm(provider, "t1");
    asker.say({ type: "registerfunction", id: "ring" });
    await settled(provider, asker);
    expect(status("t1")).toEqual(["active", null]);
    await settled(published);
    expect(published.received).toEqual([]);
  });

  it("of a module's type that is not loaded names the module to add (gap 51)", async () => {
    const { asker } = await scene();
    for (const [type, module] of [
      ["http", "svc-http"],
      ["cron", "svc-cron"],
      ["subscribe", "svc-event"],
      ["state", "svc-state"],
      ["durable:subscriber", "svc-queue"],
      ["stream:join", "svc-stream"],
      ["log", "svc-observability"],
    ] as const) {
      asker.say({ type: "registertrigger", id: type, trigger_type: type, function_id: "ring", config: {} });
      expect(await told(asker, type)).toMatchObject({
        status: "inactive",
        reason: expect.stringContaining(`svc worker add ${module}`),
      });
    }
  });

  it("asked for again under its id replaces the old one at the provider; other metadata are delivered anew", async () => {
    const { provider, asker } = await scene();
    provide(provider);
    await settled(provider);
    bind(asker, "t1", { name: "a" });
    await delivered(provider, "t1");
    bind(asker, "t1", { name: "b" });
    await takenBack(provider, "t1");
    expect(await delivered(provider, "t1")).toMatchObject({ config: { name: "b" } });
    bind(asker, "t1", { name: "b" }, { metadata: { loud: true } });
    await takenBack(provider, "t1");
    expect(await delivered(provider, "t1")).toMatchObject({ metadata: { loud: true } });
  });

  it("is taken from the provider when its asker goes, and when the asker takes it back; an unknown id changes nothing", async () => {
    const { provider, asker, status } = await scene();
    provide(provider);
    await settled(provider);
    bind(asker, "t1", { name: "a" });
    bind(asker, "t2", { name: "b" });
    await delivered(provider, "t2");
    asker.say({ type: "unregistertrigger", id: "nope" });
    asker.say({ type: "unregistertrigger", id: "t1" });
    expect(await takenBack(provider, "t1")).toEqual({ type: "unregistertrigger", id: "t1", trigger_type: "bell" });
    asker.close();
    await takenBack(provider, "t2");
    expect([status("t1"), status("t2")]).toEqual([undefined, undefined]);
  });
});

describe("a worker that provides a type", () => {
  it("goes: bindings wait and their askers hear of it; comes back: they are delivered again", async () => {
    const { engine, provider, asker, status } = await scene();
    asker.say({ type: "registerfunction", id: "ring" });
    provide(provider);
    await settled(provider);
    bind(asker, "t1");
    await delivered(provider, "t1");
    confirm(provider, "t1");
    expect(await told(asker, "t1")).toMatchObject({ status: "active" });
    provider.close();
    expect(await told(asker, "t1")).toMatchObject({
      status: "inactive",
      reason: "no one provides the trigger type bell",
    });
    expect(status("t1")).toEqual(["inactive", "no one provides the trigger type bell"]);
    const again = await engine.connectWorker({ name: "tower" });
    provide(again);
    await delivered(again, "t1");
    confirm(again, "t1");
    expect(await told(asker, "t1")).toMatchObject({ status: "active" });
  });

  it("takes the type back: it is told to let go, and the bindings wait", async () => {
    const { engine, provider, asker, status } = await scene();
    provide(provider);
    await settled(provider);
    bind(asker, "t1");
    await delivered(provider, "t1");
    provider.say({ type: "unregistertriggertype", id: "bell" });
    await takenBack(provider, "t1");
    expect(status("t1")).toMatchObject(["inactive", "no one provides the trigger type bell"]);
    expect(engine.directory.triggerTypes()).toEqual([]);
    provider.say({ type: "unregistertriggertype", id: "bell" });
    await settled(provider);
  });

  it("is replaced by the latest that provides the same type and stands by; when that one goes it serves again", async () => {
    const { engine, provider, asker } = await scene();
    provide(provider);
    await settled(provider);
    bind(asker, "t1");
    await delivered(provider, "t1");
    confirm(provider, "t1");
    const second = await engine.connectWorker({ name: "chapel" });
    provide(second);
    await takenBack(provider, "t1");
    await delivered(second, "t1");
    expect(engine.directory.triggerTypes()).toMatchObject([
      { worker_name: "chapel", workers: [{ name: "chapel" }, { name: "tower" }] },
    ]);
    // Results from a standby are ignored.
    confirm(provider, "t1", { code: "x", message: "not mine" });
    await settled(provider);
    expect(engine.directory.triggerById("t1")).not.toMatchObject({ status: "error" });
    second.close();
    await delivered(provider, "t1");
    expect(engine.directory.triggerTypes()).toMatchObject([{ worker_name: "tower", workers: [{ name: "tower" }] }]);
  });

  it("stands by while a module provides the type, and serves when the module goes", async () => {
    const bell = defineModule({
      name: "svc-bell",
      summary: "Rings",
      config: z.unknown(),
      start({ provideTrigger }) {
        provideTrigger({ type: "bell", summary: "Rings", settings: z.unknown(), bind: () => () => {} });
        return { stop: () => {} };
      },
    });
    const engine = await inMemoryEngine({ modules: [bell], config: {} });
    const provider = await engine.connectWorker({ name: "tower" });
    provide(provider);
    bind(provider, "t1");
    await delivered(provider, "t1");
    await engine.applyModules([{ name: "svc-bell", config: undefined }]);
    await takenBack(provider, "t1");
    expect(engine.directory.triggerTypes()).toMatchObject([{ worker_name: "svc-bell" }]);
    await engine.applyModules([]);
    await delivered(provider, "t1");
  });

  it("registers the type anew on one connection: its bindings move once, without a gap", async () => {
    const { provider, asker } = await scene();
    provide(provider);
    await settled(provider);
    bind(asker, "t1");
    await delivered(provider, "t1");
    provide(provider, { description: "rings louder" });
    await settled(provider);
    const types = provider.received.map((frame) => (JSON.parse(frame) as { type: string }).type);
    expect(types).toEqual(["unregistertrigger", "registertrigger"]);
  });

  it("of the oldest published client gets the same frames, one of which it does not know", async () => {
    const { provider, asker } = await scene({ features: [] });
    provide(provider);
    await settled(provider);
    bind(asker, "t1");
    await delivered(provider, "t1");
    asker.close();
    expect(await takenBack(provider, "t1")).toEqual({ type: "unregistertrigger", id: "t1", trigger_type: "bell" });
  });

  it("shows the schema of its configs, and has it enforced when it asks", async () => {
    const { engine, provider, asker, status } = await scene();
    provide(provider, { trigger_request_format: FORMAT });
    await settled(provider);
    expect(engine.directory.triggerTypes()).toMatchObject([{ trigger_request_format: FORMAT, validated: false }]);
    bind(asker, "t1", { nome: "front" });
    await delivered(provider, "t1");
    provide(provider, { trigger_request_format: FORMAT, validate: true });
    expect(await told(asker, "t1")).toMatchObject({
      status: "error",
      error: { code: "trigger_registration_failed", message: "the config of a bell trigger: /name must be there" },
    });
    expect(status("t1")).toEqual(["error", "the config of a bell trigger: /name must be there"]);
    expect(engine.directory.triggerTypes()).toMatchObject([{ validated: true, format_problem: null }]);
    bind(asker, "t2", { name: "front" });
    await delivered(provider, "t2");
  });
});

describe("a registration that is refused", () => {
  it("is answered whatever it is (gap 52)", async () => {
    const engine = await inMemoryEngine({
      limits: { maxFunctions: 1, maxTriggers: 1, maxTriggerTypes: 1 },
      formats: new JsonSchemaChecks(() => false),
    });
    const worker = await engine.connectWorker();
    const refused = (type: string, id: string) =>
      worker.next((frame) => {
        const { message_type, id: of } = ((frame.error as { details?: object } | undefined)?.details ?? {}) as {
          message_type?: string;
          id?: string;
        };
        return frame.type === "error" && message_type === type && of === id;
      });
    worker.say({ type: "registerfunction", id: "engine::mine" });
    expect(await refused("registerfunction", "engine::mine")).toMatchObject({
      error: { code: "registration_refused", message: expect.stringContaining("reserved") },
    });
    worker.say({ type: "registertriggertype", id: "engine::mine", description: "" });
    expect(await refused("registertriggertype", "engine::mine")).toMatchObject({
      error: { code: "registration_refused" },
    });
    for (const id of ["a", "b"]) {
      worker.say({ type: "registerfunction", id });
      worker.say({ type: "registertriggertype", id, description: "" });
      worker.say({ type: "registertrigger", id, trigger_type: "none", function_id: "f", config: {} });
    }
    expect(await refused("registerfunction", "b")).toMatchObject({
      error: { code: "registration_refused", message: expect.stringContaining("limit") },
    });
    expect(await refused("registertriggertype", "b")).toMatchObject({ error: { code: "registration_refused" } });
    expect(await told(worker, "b")).toMatchObject({ status: "error", error: { code: "registration_refused" } });
    worker.say({ type: "registerfunction", id: "" });
    expect(await refused("registerfunction", "")).toMatchObject({ error: { message: expect.stringContaining("id") } });
    worker.say({ type: "registertrigger", id: "t", trigger_type: "none", config: {} });
    expect(await refused("registertrigger", "t")).toMatchObject({ error: { code: "invalid_message" } });
  });
});
