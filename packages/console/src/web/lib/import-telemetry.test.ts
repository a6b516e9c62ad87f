// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { importTelemetry, importText } from "./import-telemetry.ts";
import { stubCalls } from "./testing/stub-calls.ts";

const FILE = { traces: ["{}"], logs: ["{}"], entries: ["{}"] };

it("says what was stored and what was not valid", async () => {
  stubCalls(({ function_id }) => ({
    data: { imported: function_id === "engine::traces::import" ? 3 : 1, refused: 1 },
  }));
  const result = await importTelemetry(FILE);
  expect(importText("a.json", result)).toBe("Imported 3 spans and 2 log entries; 3 were not valid");
  expect(result.problems).toEqual([]);
});

it("says what was stored before a part failed, and why", async () => {
  const answers = [
    { data: { imported: 3, refused: 0 } },
    { error: { code: "overloaded", message: "too many imports" } },
    { data: { imported: 0, refused: 0 } },
  ] as const;
  stubCalls((_request, at) => answers[at] as (typeof answers)[number]);
  expect(importText("a.json", await importTelemetry(FILE))).toBe(
    "a.json: 3 spans were imported; log entries failed: too many imports",
  );
});

it("says that the engine does not store log entries", async () => {
  stubCalls(() => ({ data: { imported: 0, refused: 0, disabled: true, message: "set logs_enabled: true" } }));
  expect(importText("a.json", await importTelemetry({ ...FILE, traces: [] }))).toBe(
    "a.json was not imported: log entries are not stored: set logs_enabled: true",
  );
});
