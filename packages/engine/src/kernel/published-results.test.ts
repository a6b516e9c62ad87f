import { Payload } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { inMemoryEngine } from "../testing/index.ts";
import { publishedResult } from "./published-results.ts";

function cut(functionId: string, json: string): string {
  return publishedResult(functionId, Payload.fromText(json)).text();
}

describe("the result of a built-in function for a published client (decision 42)", () => {
  it("has the published members alone, with all digits of numbers", () => {
    const big = "12345678901234567890.10";
    expect(cut("state::set", `{"old_value":null,"new_value":${big},"version":3,"durability":"memory"}`)).toBe(
      `{"old_value":null,"new_value":${big}}`,
    );
    expect(cut("stream::delete", `{"old_value":{"version":1},"seq":7}`)).toBe(`{"old_value":{"version":1}}`);
    expect(
      cut("engine::queue::dlq_messages", `[{"id":"a","code":"c","payload":${big}},{"id":"b","attempts":[]}]`),
    ).toBe(`[{"id":"a","payload":${big}},{"id":"b"}]`);
  });

  it("is cut at every depth of a tree of spans", () => {
    const span = (name: string, children: unknown[]): unknown => ({ name, kind: "server", child_count: 1, children });
    const tree = { roots: [span("a", [span("b", [span("c", [])])])], span_count: 3 };
    expect(JSON.parse(cut("engine::traces::tree", JSON.stringify(tree)))).toEqual({
      roots: [{ name: "a", children: [{ name: "b", children: [{ name: "c", children: [] }] }] }],
    });
  });

  it("is left as it is for other functions, and for values of another type than expected", () => {
    for (const [id, json] of [
      ["state::get", '{"version":1}'],
      ["state::set", "null"],
      ["engine::queue::dlq_messages", '{"a":1}'],
    ] as const)
      expect(cut(id, json)).toBe(json);
  });
});

describe("a null result", () => {
  it("has no member `result` for a published client, and is null for ours", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    worker.serve("none", () => null);
    worker.serve("zero", () => 0);
    const published = await engine.connectWorker({ features: [], version: "0.22.1" });
    expect(await published.call("none")).not.toHaveProperty("result");
    expect(await published.call("zero")).toHaveProperty("result", 0);
    expect(await worker.call("none")).toHaveProperty("result", null);
  });
});
