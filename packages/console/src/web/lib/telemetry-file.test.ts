import { expect, it } from "vitest";
import { parseTelemetry } from "./telemetry-file.ts";

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const group = { resource: { attributes: [attribute("service.name", "api")] }, scopeSpans: [] };
const mark = attribute("import.file", "a.json");

it("reads OTLP JSON of traces and logs, as one document or one per line, and marks it with the file's name", () => {
  const document = { resourceSpans: [group], resourceLogs: [{ scopeLogs: [] }] };
  for (const text of [
    JSON.stringify(document, undefined, 2),
    `${JSON.stringify({ resourceSpans: [group] })}\n${JSON.stringify({ resourceLogs: [{ scopeLogs: [] }] })}\n`,
  ]) {
    const { traces, logs, entries } = parseTelemetry(text, "a.json");
    expect(traces.map((line) => JSON.parse(line) as unknown)).toEqual([
      { resourceSpans: [{ scopeSpans: [], resource: { attributes: [attribute("service.name", "api"), mark] } }] },
    ]);
    expect(logs.map((line) => JSON.parse(line) as unknown)).toEqual([
      { resourceLogs: [{ scopeLogs: [], resource: { attributes: [mark] } }] },
    ]);
    expect(entries).toEqual([]);
  }
});

it("reads log entries as the Logs page exports them", () => {
  const entry = { body: "hello", severity_text: "INFO", resource: { "service.name": "api" } };
  const { entries } = parseTelemetry(JSON.stringify(entry), "a.json");
  expect(entries.map((line) => JSON.parse(line) as unknown)).toEqual([
    { ...entry, resource: { "service.name": "api", "import.file": "a.json" } },
  ]);
});

it("says which line is not telemetry", () => {
  expect(() => parseTelemetry('{"resourceSpans":[]}\n{"x":1}', "a")).toThrow("line 2 is neither OTLP JSON");
  expect(() => parseTelemetry('{"resourceSpans":[]}\nx', "a")).toThrow("line 2 is not JSON");
  expect(() => parseTelemetry("", "a")).toThrow("the file is empty");
});
