import pc from "picocolors";
import { expect, it } from "vitest";
import { drawTrace } from "./draw-trace.ts";
import type { Span } from "./traces.ts";

const span = (id: string, parent: string | null, service: string, node?: string): Span => ({
  span_id: id,
  parent_span_id: parent,
  name: `span ${id}`,
  start_time_unix_nano_text: "1000000",
  end_time_unix_nano_text: "2000000",
  status: "ok",
  service_name: service,
  ...(node === undefined ? {} : { node }),
});
const draw = (...spans: readonly Span[]): string =>
  drawTrace("abc", { spans, total: spans.length }, { paint: pc.createColors(false) });

it("names the engine of each span if there are several", () => {
  const drawn = draw(span("1", null, "front", "a"), span("2", "1", "greeter", "b"));
  expect(drawn).toMatch(/span 1 +front@a /);
  expect(drawn).toMatch(/span 2 +greeter@b /);
});

it("names no engine if there is one", () => {
  expect(draw(span("1", null, "front", "a"), span("2", "1", "greeter", "a"))).not.toContain("@");
});
