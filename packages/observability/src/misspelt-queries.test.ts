import { type InMemoryEngine, inMemoryEngine } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import observability from "./index.ts";

let engine: InMemoryEngine | undefined;
afterEach(async () => {
  await engine?.stop();
  engine = undefined;
});

async function ask(id: string, input: unknown): Promise<unknown> {
  engine ??= await inMemoryEngine({ modules: [observability] });
  return engine.call(id, input);
}

describe("queries of telemetry", () => {
  it.each([
    ["engine::traces::list", { functionid: "a::b" }, "`functionid`; did you mean function_id?"],
    ["engine::traces::list", { status: "bogus" }, "`status`: must be one of ok, error, pending"],
    ["engine::traces::facets", { status: "eror" }, "did you mean error?"],
    ["engine::logs::list", { level: ["warn"] }, "did you mean levels?"],
    ["engine::logs::list", { levels: ["loud"] }, "must be one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL"],
    ["engine::logs::tail", { severity_text: "eror" }, "did you mean ERROR?"],
    ["engine::logs::list", { exclude: { service: ["a"] } }, "did you mean services?"],
    [
      "engine::traces::list",
      { query: "error functon:a::b" },
      "`query`: unknown field functon; did you mean function? (at character 7)",
    ],
    ["engine::traces::histogram", { query: "(error" }, '`query`: expected a closing parenthesis ")" (at character 7)'],
    ["engine::logs::tail", { query: "error and" }, '`query`: expected a filter after "and" (at character 10)'],
    ["engine::metrics::series", { name: ["svc.calls"] }, "did you mean names?"],
    ["engine::metrics::functions", { window_second: 60 }, "did you mean window_seconds?"],
    ["engine::invocations::list", { functionid: "a::b" }, "did you mean function_id?"],
    ["engine::alerts::history", { nam: "a" }, "did you mean name?"],
  ])("%s %j are refused: %s", async (id, input, message) => {
    await expect(ask(id, input)).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ["engine::traces::list", { status: "ERROR", console_session: 1, _caller_worker_id: "w", _status: 1 }],
    ["engine::logs::list", { levels: ["warning", "Error", "fatal"], severity_text: "warn", namespace: "default" }],
    ["engine::metrics::list", { anything: {} }],
    ["engine::alerts::list", { whatever: true }],
  ])("%s %j are answered: what published clients send besides is left out", async (id, input) => {
    await expect(ask(id, input)).resolves.toBeTypeOf("object");
  });
});
