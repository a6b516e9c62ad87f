import { defineModule } from "@svc-runtime/engine/module";
import { inMemoryEngine } from "@svc-runtime/engine/testing";
import { expect, test } from "vitest";
import { observabilityConfigSchema } from "../../config.ts";
import type { SpanStore, TracePage } from "../span-store.ts";
import { provideListFunctions } from "./list-traces.ts";

/** Returns what `engine::traces::list` returns for this page of a store. */
async function answerFor(page: Omit<TracePage, "rows" | "total" | "totalIsExact">, limit: number): Promise<unknown> {
  const store: SpanStore = {
    storage: "disk",
    list: async () => ({ rows: [], total: 0, totalIsExact: false, ...page }),
    scan: async () => true,
    spansOf: async () => [],
    span: async () => undefined,
    stats: () => ({
      stored: 0,
      limit: undefined,
      bytes: 0,
      maxBytes: 0,
      diskBytes: 0,
      oldestMs: undefined,
      completeSinceMs: undefined,
      unwritten: 0,
    }),
    started: () => {},
    ended: () => {},
    clear: async () => {},
    flush: async () => {},
    close: async () => {},
  };
  const module = defineModule({
    name: "listing",
    summary: "",
    config: observabilityConfigSchema,
    start(context) {
      provideListFunctions(context, { store: () => store, spansFor: () => store });
      return { stop: () => {} };
    },
  });
  const engine = await inMemoryEngine({ modules: [module], config: { listing: {} } });
  try {
    return await engine.call("engine::traces::list", { limit });
  } finally {
    await engine.stop();
  }
}

test("a short page of a search says so and has a cursor; the last page does not", async () => {
  expect(await answerFor({ next: { value: 5, tie: 3 } }, 10)).toMatchObject({
    spans: [],
    partial: true,
    cursor: expect.any(String),
    total_is_lower_bound: true,
  });
  const ended = await answerFor({ next: undefined }, 10);
  expect(ended).toMatchObject({ spans: [], cursor: null });
  expect(ended).not.toHaveProperty("partial");
});
