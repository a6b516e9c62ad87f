import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inMemoryEngine, manualClock } from "@svc-runtime/engine/testing";
import { afterEach, expect, it, vi } from "vitest";
import observability, { OBSERVABILITY } from "../index.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const action of undo.splice(0).reverse()) await action();
});

it("a collector that rejects everything is logged once, makes otel degraded after 30 s, and is logged once when it is back", async () => {
  let isAway = true;
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(isAway ? 400 : 200).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  undo.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = manualClock();
  const config = {
    exporter: "both",
    logs_exporter: "memory",
    metrics_exporter: "memory",
    endpoint,
    protocol: "http/json",
  };
  const engine = await inMemoryEngine({ modules: [observability], config: { [OBSERVABILITY]: config }, clock });
  undo.push(() => engine.stop());
  const worker = await engine.connectWorker({ name: "w" });
  worker.serve("w::f", () => null);
  await worker.call("engine::telemetry::status", {});
  await engine.call("w::f", {});
  const told = (text: string): readonly unknown[] => engine.logs.filter(({ message }) => message.includes(text));
  const state = async (): Promise<unknown> =>
    ((await engine.call("engine::telemetry::status", {})) as { exporters: readonly { readonly state: string }[] })
      .exporters[0]?.state;
  const otel = async (): Promise<unknown> =>
    ((await engine.call("engine::health::check", {})) as { components: { otel: unknown } }).components.otel;
  const queued = async (): Promise<unknown> =>
    ((await engine.call("engine::telemetry::status", {})) as { exporters: readonly { readonly queued: number }[] })
      .exporters[0]?.queued;
  /** Advances the clock until the exporter has this state. */
  const until = (wanted: string): Promise<void> =>
    vi.waitFor(
      async () => {
        clock.advance(1_000);
        expect(await state()).toBe(wanted);
      },
      { timeout: 25_000, interval: 20 },
    );

  expect(await otel()).toMatchObject({ status: "healthy" });
  await until("retrying");
  for (let failures = 1; failures < 5; failures += 1) {
    await engine.call("w::f", {});
    await vi.waitFor(
      async () => {
        clock.advance(1_000);
        expect(await queued()).toBe(0);
      },
      { timeout: 25_000, interval: 20 },
    );
  }
  await until("failing");
  expect(told("fails; they are queued")).toEqual([
    expect.objectContaining({
      level: "warn",
      fields: expect.objectContaining({ endpoint: `${endpoint}/v1/traces`, reason: expect.stringContaining("400") }),
    }),
  ]);
  clock.advance(31_000);
  expect(await otel()).toMatchObject({ status: "degraded", details: expect.stringContaining("400") });
  // The probe of the disk, which runs in real time, may have reached its deadline on the manual clock.
  await vi.waitFor(
    async () => expect(await engine.call("engine::health::check", {})).toMatchObject({ status: "degraded" }),
    { timeout: 25_000, interval: 20 },
  );
  isAway = false;
  await engine.call("w::f", {});
  await until("ok");
  expect(told("fails; they are queued")).toHaveLength(1);
  expect(told("works again")).toHaveLength(1);
  expect(await otel()).toMatchObject({ status: "healthy" });
});
