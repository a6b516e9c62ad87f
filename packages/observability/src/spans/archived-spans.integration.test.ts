import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { sampleSpan, spanIdOf, traceIdOf } from "./testing/sample-spans.ts";
import { type SpansEngine, spansEngine } from "./testing/spans-engine.ts";

const root = mkdtempSync(join(tmpdir(), "svc-copy-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const list = async ({ engine }: SpansEngine, input: object = {}) =>
  (await engine.call("engine::traces::list", input)) as { readonly total: number; readonly storage: string };

it("finds spans after a restart without any config, and those that the memory has evicted", async () => {
  const dataDir = join(root, "restarts");
  const first = await spansEngine({ memory_max_spans: 10 }, { dataDir });
  first.sink.ended(sampleSpan({ trace: 1, id: 1, name: "first" }));
  expect(await list(first)).toMatchObject({ total: 1, storage: "memory" });
  for (let trace = 2; trace <= 30; trace += 1) first.sink.ended(sampleSpan({ trace, id: trace }));
  expect(await list(first)).toMatchObject({ total: 30, storage: "disk" });
  await first.engine.stop();

  const second = await spansEngine({}, { dataDir });
  second.sink.ended(sampleSpan({ trace: 31, id: 31 }));
  expect(await list(second)).toMatchObject({ total: 31, storage: "disk" });
  expect(await second.engine.call("engine::traces::spans", { trace_id: traceIdOf(1) })).toMatchObject({
    spans: [{ span_id: spanIdOf(1), name: "first" }],
  });
  await second.engine.call("engine::traces::clear", {});
  second.sink.ended(sampleSpan({ trace: 32, id: 32 }));
  expect(await list(second)).toMatchObject({ total: 1, storage: "memory" });
  await second.engine.stop();
});

it("answers from the memory if the file cannot be opened", async () => {
  const dataDir = join(root, "unusable");
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, "observability"), "a file where the folder would be");
  const { engine, sink, drops } = await spansEngine({ memory_max_spans: 10 }, { dataDir });
  for (let trace = 1; trace <= 20; trace += 1) sink.ended(sampleSpan({ trace, id: trace }));
  await expect.poll(() => drops.get("disk_unavailable")).toBe(20);
  expect(await list({ engine, sink, drops })).toMatchObject({ total: 10, storage: "memory" });
  await engine.call("engine::traces::clear", {});
  await engine.stop();
});

it("creates no file before there are spans to write, and none with `enabled: false`", async () => {
  const dataDir = join(root, "memory");
  const engine = await spansEngine({ trace_storage: { enabled: false }, memory_max_spans: 10 }, { dataDir });
  for (let trace = 1; trace <= 20; trace += 1) engine.sink.ended(sampleSpan({ trace, id: trace }));
  expect(await list(engine)).toMatchObject({ total: 10, storage: "memory" });
  await engine.engine.stop();
  const idle = await spansEngine({}, { dataDir });
  expect(await list(idle)).toMatchObject({ total: 0 });
  await idle.engine.stop();
  expect(existsSync(join(dataDir, "observability"))).toBe(false);
});
