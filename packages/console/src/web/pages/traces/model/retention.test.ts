import { expect, it } from "vitest";
import { retentionOf } from "./retention.ts";

const SPANS = { stored: 10_000, limit: 10_000, bytes: 1, max_bytes: 2, oldest_ms: 1_000_000 };

it("says since when all traces are stored, and since when the failed ones", () => {
  expect(retentionOf({ ...SPANS, complete_since_ms: 2_000_000 })).toMatchObject({
    sinceMs: 2_000_000,
    failedSinceMs: 1_000_000,
  });
  expect(retentionOf({ ...SPANS, complete_since_ms: 1_000_001 })).toMatchObject({
    sinceMs: 1_000_001,
    failedSinceMs: undefined,
  });
  expect(retentionOf({ ...SPANS, complete_since_ms: null })?.sinceMs).toBeUndefined();
});

it("names the settings that extend it", () => {
  expect(retentionOf({ ...SPANS, complete_since_ms: null })?.extension).toMatch(/10,000 spans.*trace_storage/);
  expect(retentionOf({ ...SPANS, limit: null, disk_bytes: 5, complete_since_ms: null })?.extension).toMatch(
    /max_disk_bytes/,
  );
});

it("says nothing for an engine that does not report it", () => {
  expect(retentionOf(SPANS)).toBeUndefined();
  expect(retentionOf(null)).toBeUndefined();
});
