import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { type ClientProcess, publishedClients } from "./support/published-client.ts";
import { offer, workshop } from "./support/workshop.ts";

// Capabilities 9.2 and protocol section 10: results of the functions of svc-observability have the published members
// and no others. Those of state, streams and queues are tested with these modules.

const { connected } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

type Members = Readonly<Record<string, unknown>>;

/** Returns the members that are not published. */
function others(value: unknown, published: string): readonly string[] {
  return Object.keys(value as Members).filter((name) => !published.split(" ").includes(name));
}

const SPAN =
  "trace_id span_id parent_span_id name start_time_unix_nano end_time_unix_nano status status_description attributes service_name events links instrumentation_scope_name instrumentation_scope_version flags pending";
const LOG =
  "timestamp_unix_nano observed_timestamp_unix_nano severity_number severity_text body attributes trace_id span_id resource service_name instrumentation_scope_name instrumentation_scope_version";

describe.each(publishedClients)("results of built-in functions for $name", (client) => {
  let worker: ClientProcess;
  beforeAll(async () => {
    worker = await connected(client, engine.address);
  });
  const call = (id: string, payload: Members = {}): Promise<Members> =>
    worker.run("trigger", { function_id: `engine::${id}`, payload });

  it("traces have the published members", async () => {
    await offer(worker, `traced::${client.program}`, { kind: "echo" });
    await worker.run("trigger", { function_id: `traced::${client.program}`, payload: {} });
    const spansOf = async () => (await call("traces::list", { limit: 5 })).spans as readonly Members[];
    await expect.poll(async () => (await spansOf()).length).toBeGreaterThan(0);
    const list = await call("traces::list", { limit: 5 });
    expect(others(list, "spans total offset limit")).toEqual([]);
    const [span] = list.spans as readonly Members[];
    expect(others(span, SPAN)).toEqual([]);
    expect(span).toMatchObject({ trace_id: expect.any(String), status: expect.any(String) });
    const tree = await call("traces::tree", { trace_id: span?.trace_id });
    expect(others(tree, "roots")).toEqual([]);
    const [root] = tree.roots as readonly Members[];
    expect(others(root, `${SPAN} children`)).toEqual([]);
  });

  it("logs have the published members", async () => {
    await call("log::info", { message: "to be listed" });
    const logsOf = async () => (await call("logs::list", { limit: 5 })).logs as readonly Members[];
    await expect.poll(async () => (await logsOf()).length).toBeGreaterThan(0);
    expect(others(await call("logs::list", { limit: 5 }), "logs total query timestamp")).toEqual([]);
    for (const log of await logsOf()) expect(others(log, LOG)).toEqual([]);
    expect(others(await call("logs::clear"), "success message")).toEqual([]);
  });

  it("metrics, alerts, sampling and health have the published members", async () => {
    const metrics = await call("metrics::list");
    expect(others(metrics, "engine_metrics sdk_metrics timestamp aggregated_metrics query")).toEqual([]);
    const { invocations } = metrics.engine_metrics as { readonly invocations: unknown };
    expect(others(invocations, "total success error deferred by_function")).toEqual([]);
    expect(others(await call("rollups::list"), "rollups histogram_rollups level query timestamp")).toEqual([]);
    expect(others(await call("alerts::list"), "alerts firing_count timestamp message")).toEqual([]);
    expect(others(await call("alerts::evaluate"), "evaluated triggered_alerts timestamp")).toEqual([]);
    expect(await call("sampling::rules")).toEqual({
      traces: { default_ratio: 1, rules: [], parent_based: true },
      logs: { sampling_ratio: 1 },
      timestamp: expect.any(Number),
    });
    const component = { status: expect.any(String), details: expect.any(String) };
    expect(await call("health::check")).toEqual({
      status: expect.any(String),
      components: { otel: component, metrics: component, logs: component, spans: component },
      timestamp: expect.any(Number),
      version: expect.any(String),
    });
  });
});
