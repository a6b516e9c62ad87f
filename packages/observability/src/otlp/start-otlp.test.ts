import { TRUSTED } from "@svc-runtime/engine/module";
import { type InMemoryEngine, inMemoryEngine } from "@svc-runtime/engine/testing";
import { afterEach, expect, test } from "vitest";
import observability from "../index.ts";
import { encodeMetrics, encodeTraces } from "./encode.ts";
import { someMetric, someSpan } from "./testing/records.ts";

let engine: InMemoryEngine | undefined;
afterEach(async () => {
  await engine?.stop();
  engine = undefined;
});

interface Status {
  readonly service_name: string;
  readonly exporters: readonly { readonly signal: string; readonly state: string }[];
  readonly receivers: readonly {
    readonly kind: string;
    readonly address: string | null;
    readonly state: string;
    readonly accepted: number;
    readonly refused: number;
  }[];
  readonly dropped: readonly { readonly signal: string; readonly reason: string; readonly count: number }[];
  readonly endpoint: string;
  readonly protocol: string;
}

async function start(
  config: unknown,
): Promise<{ readonly running: InMemoryEngine; readonly status: () => Promise<Status> }> {
  const running = await inMemoryEngine({ modules: [observability], config: { "svc-observability": config } });
  engine = running;
  return { running, status: async () => (await running.call("engine::telemetry::status", {})) as Status };
}

test("the receiver is off unless the config has its block", async () => {
  const { status } = await start({});
  expect((await status()).receivers).toContainEqual({
    kind: "otlp_http",
    address: null,
    state: "off",
    accepted: 0,
    refused: 0,
  });
});

test("what programs send to the receiver is counted, refused records too, and the status has its address", async () => {
  const { status } = await start({ otlp_receiver: { port: 0 } });
  const address = (await status()).receivers.find(({ kind }) => kind === "otlp_http")?.address;
  const body = JSON.stringify(encodeTraces([someSpan(), someSpan({ traceId: "0".repeat(32) })]));
  const answer = await fetch(`http://${address}/v1/traces`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  expect(answer.status).toBe(200);
  expect(await status()).toMatchObject({
    receivers: [{ kind: "worker" }, { kind: "otlp_http", state: "listening", accepted: 1, refused: 1 }],
    dropped: [{ signal: "spans", reason: "bad_id", count: 1 }],
  });
});

test("metrics that a program sends are kept", async () => {
  const { status } = await start({ otlp_receiver: { port: 0 } });
  const address = (await status()).receivers.find(({ kind }) => kind === "otlp_http")?.address;
  const metric = someMetric({
    name: "outside.orders",
    points: someMetric().points.map((point) => ({ ...point, timeUnixNano: BigInt(Date.now()) * 1_000_000n })),
  });
  const body = JSON.stringify(encodeMetrics([metric]));
  await fetch(`http://${address}/v1/metrics`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  const listed = await engine?.call("engine::metrics::list", { metric_name: "outside.orders" });
  expect(listed).toMatchObject({ sdk_metrics: [{ name: "outside.orders" }] });
});

test("an own span of a call that was not sampled is in the trace if that is kept, whichever of the two comes first, and nowhere else", async () => {
  const { running, status } = await start({ sampling: { default: 0 } });
  const accepted = async (): Promise<number> => (await status()).receivers[0]?.accepted ?? 0;
  const worker = await running.connectWorker({ name: "shop" });
  let sent = 0;
  worker.serve("shop::take", async (data, { traceparent }) => {
    const [, traceId = "", parentSpanId = "", flags] = String(traceparent).split("-");
    const resource = { attributes: [{ key: "telemetry.sdk.name", value: { stringValue: "svc" } }] };
    const span = someSpan({
      traceId,
      spanId: `a${sent}`.padEnd(16, "0"),
      parentSpanId,
      name: `look ${(data as { readonly name: string }).name}`,
    });
    const [encoded] = encodeTraces([span]).resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
    const body = { resourceSpans: [{ resource, scopeSpans: [{ spans: [{ ...encoded, flags: Number(flags) }] }] }] };
    sent += 1;
    running.kernel.telemetry.collector?.ingest("traces", Buffer.from(JSON.stringify(body)), {
      worker: { id: "w", name: "shop" },
      address: undefined,
      principal: TRUSTED,
    });
    if ((data as { readonly waits?: true }).waits === true) await expect.poll(accepted).toBe(sent);
    if ((data as { readonly fails?: true }).fails === true) throw new Error("sold out");
    return null;
  });
  // A call on the same connection after the registration finds the function.
  await worker.call("engine::none");
  await running.call("shop::take", { name: "in vain" });
  await expect(running.call("shop::take", { name: "before it fails", waits: true, fails: true })).rejects.toThrow(
    "sold out",
  );
  await expect(running.call("shop::take", { name: "after it failed", fails: true })).rejects.toThrow("sold out");
  await expect.poll(accepted).toBe(3);
  const { spans: traces } = (await running.call("engine::traces::list", {})) as {
    readonly spans: readonly { readonly trace_id: string }[];
  };
  const trees = await Promise.all(traces.map(({ trace_id }) => running.call("engine::traces::tree", { trace_id })));
  expect(trees).toHaveLength(2);
  for (const name of ["look before it fails", "look after it failed"]) {
    expect(trees).toContainEqual(
      expect.objectContaining({
        roots: [expect.objectContaining({ name: "shop::take", children: [expect.objectContaining({ name })] })],
      }),
    );
  }
});

test("frames that come before the code that reads them are read as well", async () => {
  const { status } = await start({});
  const frame = Buffer.from(JSON.stringify(encodeTraces([someSpan()])));
  for (let count = 0; count < 3; count += 1)
    engine?.kernel.telemetry.collector?.ingest("traces", frame, {
      worker: undefined,
      address: "10.0.0.1:5",
      principal: TRUSTED,
    });
  await expect.poll(async () => (await status()).receivers[0]?.accepted).toBe(3);
});

test("the receiver is closed when the config no longer wants it", async () => {
  const { status } = await start({ otlp_receiver: { port: 0 } });
  const port = Number((await status()).receivers[1]?.address?.split(":").at(-1));
  const problems = await engine?.applyModules([
    { name: "svc-observability", config: { otlp_receiver: { port: 0, enabled: false } } },
  ]);
  expect(problems).toEqual([]);
  await expect(fetch(`http://127.0.0.1:${port}/v1/traces`)).rejects.toThrow();
});

test("the status names exporters and hides a password in the endpoint", async () => {
  const { status } = await start({
    exporter: "both",
    endpoint: "http://user:secret@127.0.0.1:9",
    protocol: "http/json",
    metrics_enabled: false,
  });
  const told = await status();
  expect(told.exporters).toEqual([
    expect.objectContaining({ signal: "spans", state: "ok" }),
    expect.objectContaining({ signal: "logs" }),
  ]);
  expect(JSON.stringify(told)).not.toContain("secret");
});
