import { expect, it, vi } from "vitest";
import { span } from "../../../model/testing/spans.ts";

// lib/time.ts reads the time zone from localStorage.
vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
const { buildForest } = await import("../../../model/span-forest.ts");
const { markdownOf, otlpOf } = await import("./trace-text.ts");

it("formats a trace as Markdown and escapes markup in its data", () => {
  const forest = buildForest([
    span("a", null, 0, 0.455, { name: "GET /*x*\n# no" }),
    span("b", "a", 0.1, 0.2, { status: "error", status_description: "bad `tick`" }),
  ]);
  const text = markdownOf("t1", forest, "http://localhost/traces/t1");
  expect(text).toContain("GET /\\*x\\* # no");
  expect(text).toContain("455 µs");
  expect(text).toContain("  - b (svc) – 100 µs – **error**: bad \\`tick\\`");
});

it("exports OTLP JSON with types, and all digits of integers", () => {
  const one = span("a", null, 0, 1, {
    attributes: [
      ["big", "9007199254740993"],
      ["ok", "true"],
      ["text", "17"],
    ],
    attributes_map: { big: 9007199254740992, ok: true, text: "17" },
    resource: { "service.name": "svc" },
  });
  const [resource] = (otlpOf([one]) as { resourceSpans: { scopeSpans: { spans: { attributes: unknown }[] }[] }[] })
    .resourceSpans;
  expect(resource?.scopeSpans[0]?.spans[0]?.attributes).toEqual([
    { key: "big", value: { intValue: "9007199254740993" } },
    { key: "ok", value: { boolValue: true } },
    { key: "text", value: { stringValue: "17" } },
  ]);
});
