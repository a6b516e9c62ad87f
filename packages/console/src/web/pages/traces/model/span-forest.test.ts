import { expect, it } from "vitest";
import { criticalPath } from "../../../model/critical-path.ts";
import { buildForest, selfTimeMs } from "../../../model/span-forest.ts";
import { span } from "../../../model/testing/spans.ts";
import { layOutFlame } from "./flame-layout.ts";
import { serviceStatsOf } from "./service-stats.ts";
import { graphOf } from "./trace-graph.ts";
import { closedBelow, visibleRows } from "./visible-rows.ts";

const NO_FILTER = { text: "", errorsOnly: false, minMs: undefined, service: undefined };
const NONE: ReadonlySet<string> = new Set();

it("builds trees of spans, parents before children and siblings by start", () => {
  const forest = buildForest([
    span("c", "a", 5, 6),
    span("b", "a", 1, 4),
    span("a", null, 0, 10),
    span("d", "b", 2, 3),
  ]);
  expect(forest.nodes.map(({ id, depth }) => [id, depth])).toEqual([
    ["a", 0],
    ["b", 1],
    ["d", 2],
    ["c", 1],
  ]);
  expect(forest).toMatchObject({
    spanCount: 4,
    depth: 3,
    lengthMs: 10,
    isPending: false,
    orphanCount: 0,
    hasCycle: false,
  });
});

it("keeps microseconds", () => {
  const forest = buildForest([span("a", null, 0, 0.455)]);
  expect(forest.lengthMs).toBeCloseTo(0.455, 6);
});

it("puts spans with a missing parent below one placeholder for that parent", () => {
  const forest = buildForest([span("a", null, 0, 10), span("x", "gone", 2, 3), span("y", "gone", 4, 5)]);
  expect(forest.orphanCount).toBe(2);
  const missing = forest.byId.get("gone");
  expect(missing?.span).toBeUndefined();
  expect(missing?.children.map(({ id }) => id)).toEqual(["x", "y"]);
  expect(forest.spanCount).toBe(3);
  expect(forest.root?.id).toBe("a");
});

it("keeps two roots", () => {
  expect(buildForest([span("b", null, 3, 4), span("a", null, 0, 1)]).roots.map(({ id }) => id)).toEqual(["a", "b"]);
});

it("breaks a cycle of parents and contains every span once", () => {
  const forest = buildForest([
    span("a", "c", 0, 3),
    span("b", "a", 1, 2),
    span("c", "b", 1, 2),
    span("self", "self", 0, 1),
  ]);
  expect(forest.hasCycle).toBe(true);
  expect(forest.nodes.map(({ id }) => id).sort()).toEqual(["a", "b", "c", "self"]);
});

it("builds a chain of 5,000 spans without a stack overflow", () => {
  const chain = Array.from({ length: 5_000 }, (_, at) => span(`s${at}`, at === 0 ? null : `s${at - 1}`, at, 30_000));
  expect(buildForest(chain).depth).toBe(5_000);
});

it("treats an ended span without a status as OK and one that has not ended as Pending", () => {
  const forest = buildForest([
    span("a", null, 0, null),
    span("b", "a", 0, 1),
    span("c", "a", 0, 1, { status: "error" }),
  ]);
  expect(["a", "b", "c"].map((id) => forest.byId.get(id)?.status)).toEqual(["pending", "ok", "error"]);
  expect(forest.isPending).toBe(true);
});

it("counts a span that starts before its caller in another service", () => {
  expect(buildForest([span("a", null, 10, 20), span("b", "a", 5, 15, { service_name: "other" })]).skewedCount).toBe(1);
  expect(buildForest([span("a", null, 10, 20), span("b", "a", 5, 15)]).skewedCount).toBe(0);
});

it("subtracts the time of children from the self time, overlaps once", () => {
  const forest = buildForest([
    span("a", null, 0, 10),
    span("b", "a", 1, 5),
    span("c", "a", 3, 7),
    span("d", "a", 9, 14),
  ]);
  expect(selfTimeMs(forest.nodes[0] as never, 0)).toBeCloseTo(3, 6);
});

it("finds the critical path by the children that finished last", () => {
  const forest = buildForest([
    span("a", null, 0, 10),
    span("early", "a", 1, 3),
    span("long", "a", 2, 9),
    span("beside", "a", 4, 8),
  ]);
  const path = criticalPath(forest.nodes[0] as never, 0);
  expect([...path.keys()].map(({ id }) => id)).toEqual(["a", "long"]);
  const segments = [...path.values()].flat();
  expect(segments.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)).toBeCloseTo(10, 6);
});

it("hides the descendants of closed spans", () => {
  const forest = buildForest([
    span("a", null, 0, 10),
    span("b", "a", 1, 4),
    span("c", "b", 2, 3),
    span("d", "a", 5, 6),
  ]);
  expect(visibleRows(forest, new Set(["b"]), NO_FILTER, 0).map(({ node }) => node.id)).toEqual(["a", "b", "d"]);
  expect([...closedBelow(forest, 1)]).toEqual(["b"]);
});

it("keeps the ancestors of matching spans, and marks them", () => {
  const forest = buildForest([
    span("a", null, 0, 10),
    span("b", "a", 1, 4),
    span("c", "b", 2, 3),
    span("d", "a", 5, 6),
  ]);
  const rows = visibleRows(forest, new Set(["b"]), { ...NO_FILTER, text: "order=77", found: new Set(["c"]) }, 0);
  expect(rows.map(({ node, isContext }) => [node.id, isContext])).toEqual([
    ["a", true],
    ["b", true],
    ["c", false],
  ]);
  expect(visibleRows(forest, NONE, { ...NO_FILTER, minMs: 5 }, 0).map(({ node }) => node.id)).toEqual(["a"]);
});

it("stacks concurrent spans without overlaps", () => {
  const forest = buildForest([
    span("a", null, 0, 10),
    span("b", "a", 1, 5),
    span("c", "a", 2, 6),
    span("d", "a", 7, 8),
  ]);
  const { frames } = layOutFlame(forest, 0);
  for (const one of frames) {
    for (const other of frames) {
      if (one === other || one.lane !== other.lane) continue;
      expect(one.endMs <= other.node.startMs || other.endMs <= one.node.startMs).toBe(true);
    }
  }
  for (const { node, lane } of frames)
    if (node.parent !== undefined) expect(lane).toBeGreaterThan(frames[node.parent.at]?.lane ?? -1);
});

it("aggregates services and the calls between them", () => {
  const forest = buildForest([
    span("a", null, 0, 10, { service_name: "web" }),
    span("b", "a", 1, 3, { service_name: "db", status: "error" }),
    span("c", "a", 4, 8, { service_name: "db" }),
    span("d", "c", 5, 6, { service_name: "db" }),
  ]);
  const stats = serviceStatsOf(forest, "service", 0);
  expect(stats.find(({ service }) => service === "db")).toMatchObject({
    count: 3,
    errors: 1,
    totalMs: 7,
    p50Ms: 2,
    p95Ms: 4,
  });
  expect(serviceStatsOf(forest, "operation", 0)).toHaveLength(4);
  expect(graphOf(forest, 0).edges).toEqual([{ from: "web", to: "db", calls: 2, errors: 1, avgMs: 3 }]);
});
