/// <reference path="../../../packages/observability/src/metrics/prometheus/parse-prometheus-text-format.d.ts" />
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@svc-runtime/protocol/testing";
import parsePrometheus from "parse-prometheus-text-format";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { otlpReceiver } from "../support/otlp-receiver.ts";
import { type Outline, outlineOf, type Tree, until } from "../support/traces.ts";
import { type Guide, openGuide } from "./run-guide.ts";

const FILE = "observability.md";
const quiet = { env: { SVC_LOG_LEVEL: "warn" } };
const seen = new Set<string>();

/** The outline as in the guide. */
function drawn(outline: Outline, indent = ""): string {
  return outline.map(([name, below]) => `${indent}${name}\n${drawn(below, `${indent}  `)}`).join("");
}

/** Records which samples an opened guide has used, and closes it. */
async function close(guide: Guide | undefined): Promise<void> {
  if (guide === undefined) return;
  const left = new Set(guide.notRun());
  for (const name of guide.samples()) if (!left.has(name)) seen.add(name);
  await guide.close();
}

describe("the guide to observability", () => {
  let guide: Guide;
  beforeAll(async () => {
    guide = await openGuide(FILE, { config: "config" });
  });
  afterAll(() => close(guide));

  it("follows a request through both languages and custom spans, with their log lines", async () => {
    const [orders, prices] = await Promise.all([
      guide.run("orders", quiet),
      guide.run("prices", { env: { SVC_LOG_LEVEL: "info" } }),
    ]);
    await Promise.all([orders.printed("ready"), prices.printed("ready")]);
    const { output } = await guide.finish("look");
    expect(output).toContain('"price":12');
    const read = (file: string): unknown => JSON.parse(readFileSync(join(guide.project, file), "utf8"));
    expect(drawn(outlineOf((read("tree.json") as Tree).roots)).trim()).toBe(guide.text("look-tree").trim());
    const { logs } = read("logs.json") as { logs: readonly { body: string }[] };
    expect(logs.map(({ body }) => body)).toEqual(expect.arrayContaining(["the price is known"]));
    // Sampled every five seconds.
    const figures = await until(
      "the call is counted",
      15_000,
      () => guide.finish("figures"),
      ({ output: printed }) => /"function_id": ?"orders::take"/.test(printed),
    );
    expect(figures.output).toMatch(/"name": ?"prices"/);
    await Promise.all([orders.stop(), prices.stop()]);
  });

  it("calls the configured recipient when a function fails too often (gap 46)", async () => {
    const [orders, oncall] = await Promise.all([
      guide.run("orders", { env: { SVC_LOG_LEVEL: "silent" } }),
      guide.run("oncall", quiet),
    ]);
    await Promise.all([orders.printed("ready"), oncall.printed("ready")]);
    for (let failure = 0; failure < 3; failure++)
      await guide.worker.call({ function_id: "orders::take", payload: {} }).catch(() => undefined);
    await oncall.printed("orders fail firing 3");
    await Promise.all([orders.stop(), oncall.stop()]);
  });
});

describe("the configs of the guide to observability", () => {
  let guide: Guide | undefined;
  afterEach(async () => {
    await close(guide);
    guide = undefined;
  });

  it("store traces and logs on the disk", async () => {
    guide = await openGuide(FILE, { config: "storage-config" });
    const { spans, logs } = (await guide.worker.call({
      function_id: "engine::telemetry::status",
      payload: {},
    })) as Record<string, { max_bytes: number }>;
    // Spans and logs share the configured size. A tenth is reserved for data that is being written.
    const limit = 536_870_912;
    expect((spans?.max_bytes ?? 0) + (logs?.max_bytes ?? 0)).toBeGreaterThan(limit * 0.8);
    expect((spans?.max_bytes ?? 0) + (logs?.max_bytes ?? 0)).toBeLessThanOrEqual(limit);
  });

  it("record less", async () => {
    guide = await openGuide(FILE, { config: "sampling-config" });
    expect(await guide.worker.call({ function_id: "engine::sampling::rules", payload: {} })).toMatchObject({
      traces: { default_ratio: 0.1, rules: [{ operation: "GET /health*", rate: 0 }] },
    });
  });

  it("accept what an OpenTelemetry SDK sends", async () => {
    const port = await freePort();
    guide = await openGuide(FILE, { config: "receiver-config", morePorts: { 4318: port } });
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const span = {
      traceId,
      spanId: "00f067aa0ba902b7",
      name: "elsewhere",
      kind: 1,
      startTimeUnixNano: "1790000000000000000",
      endTimeUnixNano: "1790000000001000000",
    };
    const response = await fetch(`http://127.0.0.1:${port}/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans: [span] }] }] }),
    });
    expect(response.status).toBe(200);
    const { worker } = guide;
    const tree = await until(
      "the span is there",
      15_000,
      async () => (await worker.call({ function_id: "engine::traces::tree", payload: { trace_id: traceId } })) as Tree,
      ({ span_count }) => span_count === 1,
    );
    expect(tree.roots[0]?.name).toBe("elsewhere");
  });

  it("serve metrics that a parser of Prometheus' text reads, at the address that the scrape config names", async () => {
    const port = await freePort();
    guide = await openGuide(FILE, { config: "prometheus-config", morePorts: { 9464: port } });
    const target = /targets: \["(.+)"\]/.exec(guide.text("prometheus-scrape"))?.[1];
    expect(target).toBe(`localhost:${port}`);
    const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    // Metrics are sampled every five seconds.
    const text = await until("there are figures", 15_000, scrape, (page) => page !== "");
    const names = parsePrometheus(text).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([expect.stringMatching(/^svc_/)]));
  });

  it.each([
    ["collector-config", 4317],
    ["collector-http-config", 4318],
  ] as const)("send spans to a collector: %s (Done when 6)", async (config, port) => {
    const receiver = await otlpReceiver();
    guide = await openGuide(FILE, {
      config,
      morePorts: { [port]: port === 4317 ? receiver.grpcPort : receiver.httpPort },
    });
    guide.worker.registerFunction("guide::sent", () => 1);
    await until(
      "the function answers",
      15_000,
      () => guide?.worker.call({ function_id: "guide::sent", payload: {} }).catch(() => undefined) ?? Promise.resolve(),
      (answer) => answer === 1,
    );
    await receiver.received("traces", "guide::sent");
    await receiver.received("traces", "guide-test");
    if (config === "collector-http-config") expect(receiver.headers()).toMatchObject({ authorization: "Bearer none" });
    await close(guide);
    guide = undefined;
    await receiver.close();
  });
});

describe("the samples of the guide to observability", () => {
  it("have all run", async () => {
    const guide = await openGuide(FILE);
    const all = guide.samples();
    await guide.close();
    expect(all.filter((name) => !seen.has(name))).toEqual([]);
  });
});
