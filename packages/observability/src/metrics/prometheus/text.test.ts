import parsePrometheus from "parse-prometheus-text-format";
import { describe, expect, it } from "vitest";
import type { MetricRecord } from "../../telemetry-records.ts";
import { metricsText } from "./text.ts";

const OWN = { service: "svc", workerId: undefined, attributes: {} };

function record(
  more: Partial<MetricRecord> & { readonly values?: readonly (readonly [number, Record<string, string>?])[] },
): MetricRecord {
  const { values = [[1]], ...rest } = more;
  return {
    name: "m",
    description: "",
    unit: "1",
    type: "gauge",
    temporality: undefined,
    resource: OWN,
    scopeName: undefined,
    points: values.map(([value, attributes = {}]) => ({
      attributes,
      timeUnixNano: 0n,
      startUnixNano: undefined,
      value: { type: "number", value },
    })),
    ...rest,
  };
}

describe("metrics as text", () => {
  it("are read by a parser of Prometheus as they were, whatever labels and help hold", () => {
    const hostile = { path: 'a"b\\c\nd', "bad-name.x": "1", le: "x", __name__: "y", "0": "digit", emoji: "π" };
    const text = metricsText(
      [
        record({
          name: "svc.a-b",
          description: "one\\two\nthree",
          values: [
            [1.5, hostile],
            [Number.POSITIVE_INFINITY, {}],
            [1e21, { a: "b" }],
          ],
        }),
      ],
      OWN,
      "prometheus",
    );
    const [family] = parsePrometheus(text);
    expect(text.split("\n")[0]).toBe("# HELP svc_a_b one\\\\two\\nthree");
    expect(family).toMatchObject({ name: "svc_a_b", type: "GAUGE" });
    expect(family?.metrics[0]).toEqual({
      value: "1.5",
      labels: { path: 'a"b\\c\nd', bad_name_x: "1", label_le: "x", label___name__: "y", _0: "digit", emoji: "π" },
    });
    expect(family?.metrics.slice(1).map(({ value }) => Number(String(value).replace("+Inf", "Infinity")))).toEqual([
      Number.POSITIVE_INFINITY,
      1e21,
    ]);
  });

  it("name counters _total and end names with the unit, once", () => {
    const names = (format: "prometheus" | "openmetrics"): string[] =>
      metricsText(
        [
          record({ name: "svc.calls", type: "counter" }),
          record({ name: "x_total", type: "counter" }),
          record({ name: "svc.worker.event_loop_lag_ms", unit: "ms" }),
          record({ name: "svc.engine.rss_bytes", unit: "By" }),
          record({ name: "queue.size", unit: "{jobs}" }),
          record({ name: "cpu", unit: "%" }),
        ],
        OWN,
        format,
      )
        .split("\n")
        .filter((line) => line.startsWith("# TYPE"))
        .map((line) => line.slice("# TYPE ".length));
    const gauges = [
      "svc_worker_event_loop_lag_milliseconds gauge",
      "svc_engine_rss_bytes gauge",
      "queue_size_jobs gauge",
      "cpu_percent gauge",
    ];
    expect(names("prometheus")).toEqual(["svc_calls_total counter", "x_total counter", ...gauges]);
    expect(names("openmetrics")).toEqual(["svc_calls counter", "x counter", ...gauges]);
  });

  it("give histograms by cumulative buckets", () => {
    const value = {
      type: "histogram" as const,
      count: 6,
      sum: 33,
      min: undefined,
      max: undefined,
      bucketCounts: [1, 2, 3],
      bounds: [0.5, 10],
    };
    const textWith = (attributes: Record<string, string>): string =>
      metricsText(
        [
          record({
            name: "d",
            unit: "ms",
            type: "histogram",
            points: [{ attributes, timeUnixNano: 0n, startUnixNano: undefined, value }],
          }),
        ],
        OWN,
        "prometheus",
      );
    expect(textWith({ f: "x" })).toContain('d_milliseconds_bucket{f="x",le="10.0"} 3\n');
    // The parser supports one histogram per name, without labels.
    expect(parsePrometheus(textWith({}))).toMatchObject([
      {
        name: "d_milliseconds",
        type: "HISTOGRAM",
        metrics: [{ buckets: { "0.5": "1", "10.0": "3", "+Inf": "6" }, count: "6", sum: "33" }],
      },
    ]);
  });

  it("tell whose a metric of a worker is, and keep two workers' apart", () => {
    const of = (service: string, workerId: string): MetricRecord =>
      record({ name: "orders", type: "counter", resource: { service, workerId, attributes: {} } });
    const [family] = parsePrometheus(metricsText([of("shop", "w1"), of("shop", "w2")], OWN, "prometheus"));
    expect(family?.metrics.map(({ labels }) => labels)).toEqual([
      { service_name: "shop", worker_id: "w1" },
      { service_name: "shop", worker_id: "w2" },
    ]);
  });

  it("never say the same series twice, nor one name in two types: either makes scrapers refuse all of it", () => {
    const text = metricsText(
      [
        record({
          name: "a.b",
          values: [
            [1, { "x.y": "1" }],
            [2, { x_y: "1" }],
          ],
        }),
        record({ name: "a_b", type: "histogram", points: [] }),
        record({ name: "a:b" }),
      ],
      OWN,
      "prometheus",
    );
    expect(text).toBe('# TYPE a_b gauge\na_b{x_y="1"} 1\n# TYPE a:b gauge\na:b 1\n');
  });

  it("end as OpenMetrics wants it", () => {
    expect(metricsText([record({ type: "counter", description: 'a "b"' })], OWN, "openmetrics")).toBe(
      '# HELP m a \\"b\\"\n# TYPE m counter\nm_total 1\n# EOF\n',
    );
    expect(metricsText([], OWN, "openmetrics")).toBe("# EOF\n");
  });
});
