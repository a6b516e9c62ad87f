import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { ClientFailure, node11, node22, publishedClients } from "./support/published-client.ts";
import { offer, quiet, settled, workshop } from "./support/workshop.ts";

// Protocol section 18, statements 39 and 40, and the effects of telemetry on a client.

const { client: start, connected, raw, tap } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

describe.each(publishedClients)("shutting down $name", (client) => {
  it.each([true, false])("ends its process soon and leaves no registrations, telemetry on: %s", async (telemetry) => {
    // The Python client reads the address of its telemetry here.
    const env = telemetry ? { OTEL_ENABLED: "true", III_URL: engine.address } : {};
    const worker = await connected(
      client,
      engine.address,
      { workerName: "leaving", otel: telemetry ? {} : { enabled: false } },
      { env },
    );
    await offer(worker, `leaving::${client.program}`, { kind: "echo" });
    await worker.run("registerTrigger", {
      type: "http",
      function_id: `leaving::${client.program}`,
      config: { api_path: "leaving" },
    });
    const caller = await raw(engine.address);
    expect((await caller.call(`leaving::${client.program}`, { data: { a: 1 } })).result).toEqual({ a: 1 });
    const startedAt = performance.now();
    await worker.run("shutdown");
    // Without a telemetry socket the earlier Node client would hang for 30 s here and then crash. The svc engine has
    // one.
    expect(performance.now() - startedAt).toBeLessThan(25_000);
    await worker.run("finish");
    expect(await worker.exited).toBe(0);
    await expect.poll(() => engine.workers(), { timeout: 30_000 }).not.toContain("leaving");
    expect((await caller.call(`leaving::${client.program}`)).error).toMatchObject({ code: "function_not_found" });
    caller.close();
  });

  it("statement 40: rejects its pending calls", async () => {
    const worker = await connected(client, engine.address);
    await offer(worker, `pending::${client.program}`, { kind: "hold" });
    const pending = worker
      .run("trigger", { function_id: `pending::${client.program}`, payload: {} })
      .catch((error: Error) => error.message);
    await worker.next(({ event }) => event === "called", "the call");
    await worker.run("shutdown");
    expect(await pending).toMatch(/shutting down/i);
  });
});

describe("shutting down while /otel is refused", () => {
  const refuseOtel = {
    onUpgrade: (path: string) => (path === "/otel" ? { refuse: "404 Not Found" } : ("forward" as const)),
  };

  it("statement 40: does not hang iii-sdk 0.22.1 after a handled call", async () => {
    const wire = await tap(engine.address, refuseOtel);
    const worker = await connected(node22, wire.address, { otel: {} }, { env: { OTEL_ENABLED: "true" } });
    await offer(worker, "refused::later", { kind: "echo" });
    await worker.run("trigger", { function_id: "refused::later", payload: {} });
    const startedAt = performance.now();
    await worker.run("shutdown");
    // The earlier client hangs for 30 s.
    expect(performance.now() - startedAt).toBeLessThan(25_000);
    await worker.run("finish");
    expect(await worker.exited).toBe(0);
  });

  it("statement 40: hangs iii-sdk 0.11.6 for about 30 s and then fails, which is why the svc engine never refuses it", async () => {
    const timeFactor = 10;
    const wire = await tap(engine.address, refuseOtel);
    const worker = await start(node11, { timeFactor, env: { OTEL_ENABLED: "true" } });
    await worker.run("connect", { address: wire.address, options: { ...quiet, otel: {} } });
    await settled(worker);
    await offer(worker, "refused::earlier", { kind: "echo" });
    await worker.run("trigger", { function_id: "refused::earlier", payload: {} });
    const startedAt = performance.now();
    // Its program catches the rejection. A program that does not is ended by it.
    await expect(worker.run("shutdown")).rejects.toBeInstanceOf(ClientFailure);
    expect(performance.now() - startedAt).toBeGreaterThan(25_000 / timeFactor);
  });
});

describe.each([node11, node22])("telemetry of $name", (client) => {
  it("is accepted on /otel in its three kinds, and nothing is sent back", async () => {
    const wire = await tap(engine.address);
    const otel = { metricsExportIntervalMs: 200, spansFlushIntervalMs: 50 };
    const worker = await connected(
      client,
      wire.address,
      { otel, enableMetricsReporting: true },
      { env: { OTEL_ENABLED: "true" } },
    );
    await offer(worker, `traced::${client.version}`, { kind: "echo" });
    await worker.run("trigger", { function_id: `traced::${client.version}`, payload: { a: 1 } });
    await worker.run("log", { message: "hello from the worker", data: { n: 1 } });
    for (const prefix of ["OTLP", "LOGS", "MTRC"]) {
      const frame = await wire.frame(
        ({ path, bytes }) => path === "/otel" && bytes.toString("latin1", 0, 4) === prefix,
        `a ${prefix} frame`,
      );
      expect(frame.kind).toBe("binary");
      expect(() => JSON.parse(frame.bytes.toString("utf8", 4))).not.toThrow();
    }
    await worker.run("shutdown");
    expect(wire.frames.filter(({ path, from }) => path === "/otel" && from === "engine")).toEqual([]);
    expect(engine.logged("error")).toEqual([]);
  });

  it("statement 39: its log lines are in engine::logs::list, with their trace and service", async () => {
    const worker = await connected(
      client,
      engine.address,
      { workerName: `logging-${client.version}`, otel: { serviceName: `logging-${client.version}` } },
      { env: { OTEL_ENABLED: "true" } },
    );
    const message = `a line of ${client.version}`;
    await worker.run("log", { message, data: { n: 1 } });
    const caller = await raw(engine.address);
    const found = async (): Promise<unknown> =>
      (
        (await caller.call("engine::logs::list", { data: { text: message } })).result as {
          readonly logs: readonly unknown[];
        }
      ).logs[0];
    await expect
      .poll(found, { timeout: 30_000 })
      .toMatchObject({ body: message, service_name: `logging-${client.version}` });
    await worker.run("shutdown");
  });

  it("carries a trace from caller to callee: the engine passes on its own span in the same trace, and returns the context", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(client, wire.address, { otel: {} }, { env: { OTEL_ENABLED: "true" } });
    const id = `context::${client.version}`;
    await offer(worker, id, { kind: "echo" });
    const caller = await raw(engine.address);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const answer = await caller.call(id, { data: {}, traceparent, baggage: "tenant=t1" });
    const received = await wire.frame(
      ({ from, json }) => from === "engine" && json?.type === "invokefunction" && json.function_id === id,
      "the call",
    );
    expect(received.json).toMatchObject({
      traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/),
      baggage: "tenant=t1",
    });
    expect(received.json?.traceparent).not.toBe(traceparent);
    expect(String(answer.traceparent)).toContain("0af7651916cd43dd8448eb211c80319c");
  });
});
