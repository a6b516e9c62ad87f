import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { schemaOf } from "@svc-runtime/engine/module";
import { type Database, openDatabase } from "@svc-runtime/engine/store";
import { afterEach, expect, test } from "vitest";
import { sampleSpan } from "../testing/sample-spans.ts";
import { type TracePosition, traceFiltersSchema } from "../trace-query.ts";
import { schema } from "./schema.ts";
import { traceSelector } from "./select-traces.ts";
import { writeSpan } from "./span-json.ts";
import { spanWriter } from "./write-spans.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-select-"));
let database: Database | undefined;
afterEach(() => {
  database?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a search that exceeds its time returns a short page, and continues until all is found", () => {
  database = openDatabase(join(folder, "spans.db"));
  for (const sql of schema) database.exec(sql);
  const spans = Array.from({ length: 50 }, (_, index) =>
    sampleSpan({ trace: index + 1, id: index + 1, attributes: { shop: index % 10 === 0 ? "mine" : "other" } }),
  );
  spanWriter(database).append(spans.map(writeSpan), { nowMs: 0, keepSlowUs: undefined });
  const selector = traceSelector(database, { budgetMs: 0 });
  const filters = schemaOf(traceFiltersSchema).parse({ filters: [{ key: "shop", op: "contains", value: "in" }] });
  let after: TracePosition | undefined;
  let found = 0;
  let pages = 0;
  do {
    const page = selector.list({
      filters,
      sortBy: "start_time",
      descending: true,
      after,
      offset: 0,
      limit: 10,
      spans: "none",
    });
    expect(page.rows.length).toBeLessThan(10);
    expect(page.totalIsExact).toBe(false);
    found += page.rows.length;
    after = page.next;
    pages += 1;
  } while (after !== undefined && pages < 1_000);
  expect([found, after]).toEqual([5, undefined]);
  expect(pages).toBeGreaterThan(5);
});
