import type { InMemoryCluster, InMemoryEngine } from "@svc-runtime/engine/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { writeCursor } from "../../query/cursor.ts";
import { killedAndGone, telemetryCluster } from "../../testing/telemetry-cluster.ts";

let cluster: InMemoryCluster;
let engines: readonly InMemoryEngine[];
let a: InMemoryEngine;
let c: InMemoryEngine;

interface Log {
  readonly id: string;
  readonly body: string;
  readonly node?: string;
}
interface List {
  readonly logs: readonly Log[];
  readonly total: number;
  readonly cursor: string | null;
}

const ask = async <Answer = Record<string, unknown>>(
  engine: InMemoryEngine,
  id: string,
  payload: object = {},
): Promise<Answer> => (await engine.call(`engine::logs::${id}`, payload)) as Answer;
/** The entries of the test's workers. */
const OURS = { services: ["writer"] };
const bodies = ({ logs }: Pick<List, "logs">): string[] => logs.map(({ body }) => body);

/** Five entries at each engine, in turn and one millisecond apart. */
const written: string[] = [];
beforeEach(async () => {
  const started = await telemetryCluster();
  ({ cluster, engines } = started);
  [a, , c] = started.engines;
  const writers = await Promise.all(engines.map((engine) => engine.connectWorker({ name: "writer" })));
  written.length = 0;
  for (let at = 0; at < 5; at += 1)
    for (const [index, writer] of writers.entries()) {
      await cluster.advance(1);
      const message = `line ${at} of ${index}`;
      await writer.call("engine::log::info", { message, service_name: "writer" });
      written.push(message);
    }
});
afterEach(() => cluster.stop());

it("lists the entries of all engines page by page in order, each once, whichever engine is asked", async () => {
  for (const engine of engines)
    for (const sort_order of ["asc", "desc"] as const) {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const page: List = await ask(engine, "list", {
          ...{ ...OURS, sort_order, limit: 4 },
          ...(cursor === null ? {} : { cursor }),
        });
        expect(page).toMatchObject({ total: 15, nodes: ["a", "b", "c"] });
        found.push(...bodies(page));
        cursor = page.cursor;
      } while (cursor !== null);
      expect(found).toEqual(sort_order === "asc" ? written : written.toReversed());
    }
  expect(bodies(await ask(a, "list", { ...OURS, sort_order: "asc", offset: 5, limit: 3 }))).toEqual(
    written.slice(5, 8),
  );
});

it("filters entries by engine, and finds one and its neighbours at its engine", async () => {
  const { logs } = await ask<List>(a, "list", { ...OURS, query: "node:c", sort_order: "asc" });
  expect(logs.map(({ body, node }) => [body, node])).toEqual(
    written.filter((_, at) => at % 3 === 2).map((body) => [body, "c"]),
  );
  expect(await ask(a, "list", { ...OURS, query: "not node:c" })).toMatchObject({ total: 10 });
  const id = logs[2]?.id ?? "";
  for (const engine of engines) {
    expect(await ask(engine, "get", { id })).toMatchObject({ id, body: "line 2 of 2", node: "c" });
    const around = await ask<Pick<List, "logs">>(engine, "around", { ...OURS, id, before: 1, after: 1 });
    expect(bodies(around)).toEqual(["line 3 of 2", "line 2 of 2", "line 1 of 2"]);
  }
  await expect(ask(a, "get", { id: "7@b" })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

it("adds up counts", async () => {
  expect(await ask(c, "facets", { ...OURS, facets: ["level", "resource.svc.node"] })).toMatchObject({
    facets: {
      level: [{ value: "INFO", count: 15 }],
      "resource.svc.node": expect.arrayContaining(["a", "b", "c"].map((value) => ({ value, count: 5 }))),
    },
    total: 15,
  });
  const { buckets, total } = await ask<{ buckets: { counts: { INFO?: number } }[]; total: number }>(c, "histogram", {
    ...OURS,
    buckets: 5,
  });
  expect({ total, counts: buckets.map(({ counts }) => counts.INFO) }).toEqual({ total: 15, counts: [3, 3, 3, 3, 3] });
});

it("names an engine that is gone, and rejects a query with an error as an engine alone does", async () => {
  await killedAndGone(cluster, c);
  expect(await ask(a, "list", OURS)).toMatchObject({
    total: 10,
    nodes: ["a", "b"],
    missing: ["c"],
  });
  await expect(ask(a, "list", { query: "nonsense:1" })).rejects.toMatchObject({ code: "invalid_input" });
  const noNumber = writeCursor("logs.desc.nodes", [JSON.stringify({ nodes: { a: ["abc", 1] }, front: null })]);
  for (const cursor of ["bm9uZQ", noNumber])
    await expect(ask(a, "list", { cursor })).rejects.toMatchObject({ code: "invalid_input" });
});

it("lists as many bytes as an engine alone does, and the others on the next page", async () => {
  const writers = await Promise.all(engines.map((engine) => engine.connectWorker({ name: "large" })));
  // 10.8 MB.
  for (let at = 0; at < 60; at += 1)
    for (const [index, writer] of writers.entries())
      await writer.call("engine::log::info", {
        message: `${at} of ${index} ${"x".repeat(60_000)}`,
        service_name: "large",
      });
  const found: string[] = [];
  const sizes: number[] = [];
  let cursor: string | null = null;
  do {
    const page: List = await ask(a, "list", {
      ...{ services: ["large"], limit: 1_000 },
      ...(cursor === null ? {} : { cursor }),
    });
    sizes.push(Buffer.byteLength(JSON.stringify(page.logs)));
    found.push(...bodies(page).map((body) => body.slice(0, 8)));
    cursor = page.cursor;
  } while (cursor !== null);
  expect(new Set(found).size).toBe(180);
  expect(found).toHaveLength(180);
  expect(Math.max(...sizes)).toBeLessThan(8.5 * 1024 * 1024);
  expect(sizes.length).toBeLessThan(5);
});
