import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { type ClientProcess, publishedClients } from "./support/published-client.ts";
import { offer, settled, workshop } from "./support/workshop.ts";

// Protocol sections 1.3, 6.5 and 10.1: each client version receives the listings of its documentation.

const { connected } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

type Row = Readonly<Record<string, unknown>>;

describe.each(publishedClients)("what $name finds", (client) => {
  const name = `finder ${client.name}`;
  const id = `finder::${client.program}`;
  const type = `finder-type-${client.program}`;
  let worker: ClientProcess;
  beforeAll(async () => {
    worker = await connected(client, engine.address, { workerName: name, workerDescription: "finds" });
    await worker.run("registerTriggerType", { id: type, description: "of the test" });
    const options = {
      description: "A",
      metadata: { x: 1 },
      request_format: { type: "object" },
      response_format: { type: "string" },
    };
    await offer(worker, id, { kind: "echo" }, options);
    await offer(worker, `${id}-internal`, { kind: "echo" }, { metadata: { internal: true } });
    await worker.run("registerTrigger", { type, function_id: id, config: { a: "x".repeat(100) }, metadata: { m: 1 } });
    await settled(worker);
  });

  async function list(functionId: string, key: string, payload: Row = {}): Promise<readonly Row[]> {
    const answer = await worker.run<Row>("trigger", { function_id: functionId, payload });
    return answer[key] as readonly Row[];
  }
  const keysOf = (row: Row | undefined): string[] => Object.keys(row ?? {}).sort();

  it("functions, in the form of its version, without the engine's own and internal ones", async () => {
    const functions = await list("engine::functions::list", "functions");
    const ids = functions.map(({ function_id }) => String(function_id));
    expect(ids).toContain(id);
    expect(ids).not.toContain(`${id}-internal`);
    expect(ids.filter((found) => found.startsWith("engine::"))).toEqual([]);
    const own = functions.find(({ function_id }) => function_id === id);
    if (client.isLater) {
      expect(own).toEqual({ function_id: id, worker_name: name, description: "A", metadata: { x: 1 } });
      expect(ids).toEqual(ids.toSorted());
    } else {
      expect(own).toEqual({
        function_id: id,
        description: "A",
        metadata: { x: 1 },
        request_format: { type: "object" },
        response_format: { type: "string" },
      });
    }
    const all = await list("engine::functions::list", "functions", { include_internal: true });
    expect(all.map(({ function_id }) => function_id)).toEqual(
      expect.arrayContaining([`${id}-internal`, "engine::functions::list"]),
    );
  });

  it("workers, in the form of its version, including itself", async () => {
    const answer = await worker.run<Row>("trigger", { function_id: "engine::workers::list", payload: {} });
    const own = (answer.workers as readonly Row[]).find((row) => row.name === name);
    expect(own).toMatchObject({
      name,
      runtime: client.runtime,
      version: client.version,
      status: "connected",
      ip_address: expect.any(String),
    });
    expect(own).toMatchObject({
      function_count: 2,
      active_invocations: expect.any(Number),
      connected_at_ms: expect.any(Number),
      isolation: null,
    });
    const common = [
      "active_invocations",
      "connected_at_ms",
      "function_count",
      "id",
      "ip_address",
      "isolation",
      "name",
      "os",
      "runtime",
      "status",
      "version",
    ];
    if (client.isLater) {
      expect(keysOf(own)).toEqual([...common, "description"].sort());
      expect(own?.description).toBe("finds");
    } else {
      expect(keysOf(own)).toEqual([...common, "functions", "internal", "latest_metrics", "pid"].sort());
      expect(own).toMatchObject({ pid: worker.pid, functions: expect.arrayContaining([id]) });
      expect(answer.timestamp).toEqual(expect.any(Number));
    }
  });

  it(
    client.isLater
      ? "trigger types under engine::triggers::list"
      : "bindings under engine::triggers::list, and types under their own id",
    async () => {
      const triggers = await list("engine::triggers::list", "triggers");
      if (client.isLater) {
        expect(triggers.find((row) => row.id === type)).toEqual({
          id: type,
          worker_name: name,
          description: "of the test",
        });
        const bindings = await list("engine::registered-triggers::list", "registered_triggers", { function_id: id });
        expect(bindings).toEqual([
          {
            id: expect.any(String),
            trigger_type: type,
            function_id: id,
            worker_name: name,
            config: { a: "x".repeat(100) },
            config_summary: expect.stringMatching(/^\{"a":"x+…$/),
          },
        ]);
      } else {
        expect(triggers.find((row) => row.function_id === id)).toEqual({
          id: expect.any(String),
          trigger_type: type,
          function_id: id,
          config: { a: "x".repeat(100) },
          metadata: { m: 1 },
        });
        const types = await list("engine::trigger-types::list", "trigger_types");
        expect(types.find((row) => row.id === type)).toMatchObject({ id: type, description: "of the test" });
      }
    },
  );

  if (client.isLater) {
    it("details of a function, a worker, a type and a binding", async () => {
      const info = (functionId: string, payload: Row): Promise<Row> =>
        worker.run("trigger", { function_id: functionId, payload });
      const found = await info("engine::functions::info", { function_id: id });
      expect(found).toMatchObject({
        function_id: id,
        worker_name: name,
        request_schema: { type: "object" },
        response_schema: { type: "string" },
      });
      const [binding] = found.registered_triggers as readonly Row[];
      expect(binding).toMatchObject({ trigger_type: type });
      expect(await info("engine::functions::info", { function_ids: [id, "no::such"] })).toMatchObject({
        functions: [{ function_id: id }, { function_id: "no::such", error: "not_found" }],
      });
      expect(await info("engine::workers::info", { name })).toMatchObject({
        worker: { name, pid: worker.pid },
        trigger_types: [{ id: type }],
      });
      expect(await info("engine::triggers::info", { id: type })).toMatchObject({
        id: type,
        worker_name: name,
        instance_count: 1,
      });
      expect(await info("engine::registered-triggers::info", { id: binding?.id })).toMatchObject({
        id: binding?.id,
        function_id: id,
        metadata: { m: 1 },
      });
      await expect(info("engine::functions::info", { function_id: "no::such" })).rejects.toThrow(
        "Function 'no::such' is not registered.",
      );
    });

    it("registers and removes a trigger without an owner", async () => {
      const { id: made } = await worker.run<Row>("trigger", {
        function_id: "engine::register_trigger",
        payload: { trigger_type: type, function_id: id, config: { n: 2 } },
      });
      expect(
        (await worker.next((event) => event.event === "bound" && event.config?.id === made, "the binding")).config,
      ).toMatchObject({ config: { n: 2 } });
      expect(await worker.run("trigger", { function_id: "engine::unregister_trigger", payload: { id: made } })).toEqual(
        { removed: true },
      );
      expect(await worker.run("trigger", { function_id: "engine::unregister_trigger", payload: { id: made } })).toEqual(
        { removed: false },
      );
    });
  }

  it("changes of functions and workers, by triggers", async () => {
    await offer(worker, `${id}-changes`, { kind: "nothing" });
    await offer(worker, `${id}-comings`, { kind: "nothing" });
    await worker.run("registerTrigger", {
      type: "engine::functions-available",
      function_id: `${id}-changes`,
      config: {},
    });
    await worker.run("registerTrigger", {
      type: "engine::workers-available",
      function_id: `${id}-comings`,
      config: {},
    });
    await settled(worker);
    const other = await connected(client, engine.address, { workerName: `other ${client.name}` });
    await offer(other, `${id}-new`, { kind: "nothing" });
    const isListed = (data: unknown): boolean =>
      (data as { functions: readonly Row[] }).functions.some(({ function_id }) => function_id === `${id}-new`);
    const changed = await worker.next(
      (event) => event.function === `${id}-changes` && isListed(event.data),
      "the new function is announced",
    );
    expect(changed.data).toMatchObject({ event: "functions_changed" });
    const told = (what: string) =>
      worker.next((event) => event.function === `${id}-comings` && (event.data as Row).event === what, what);
    expect((await told("worker_connected")).data).toEqual({ event: "worker_connected", worker_id: expect.any(String) });
    expect((await told("worker_metadata_updated")).data).toEqual({
      event: "worker_metadata_updated",
      worker_id: expect.any(String),
    });
    await other.run("shutdown");
    expect((await told("worker_disconnected")).data).toEqual({
      event: "worker_disconnected",
      worker_id: expect.any(String),
    });
  });

  it("its log functions and baggage functions", async () => {
    for (const level of ["info", "warn", "error", "debug", "trace"]) {
      const said = await worker.run("trigger", {
        function_id: `engine::log::${level}`,
        payload: { message: `said ${level}`, data: { a: 1 } },
      });
      expect(said ?? null).toBeNull();
    }
    await expect.poll(() => engine.output(), { timeout: 30_000 }).toContain("said error");
    expect(await worker.run("trigger", { function_id: "engine::baggage::get_all", payload: {} })).toEqual({
      baggage: {},
    });
    expect(await worker.run("trigger", { function_id: "engine::baggage::get", payload: { key: "k" } })).toEqual({
      value: null,
    });
    expect(
      await worker.run("trigger", { function_id: "engine::baggage::set", payload: { key: "k", value: "v" } }),
    ).toMatchObject({ success: true });
  });
});
