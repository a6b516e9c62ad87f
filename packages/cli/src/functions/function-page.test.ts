import pc from "picocolors";
import { describe, expect, it } from "vitest";
import { functionPage } from "./function-page.ts";

const UNPRINTABLE = /[\p{Cc}\p{Cf}]/u;

function page(format: unknown, registered_triggers: readonly unknown[] = [], validated = true): string {
  return functionPage(
    {
      function_id: "orders::store",
      description: null,
      status: "available",
      workers: [],
      validated,
      format_problem: null,
      request_format: format,
      response_format: format,
      registered_triggers,
    } as unknown as Parameters<typeof functionPage>[0],
    pc.createColors(false),
  );
}

describe("the page of a function", () => {
  it.each([
    [
      "a default",
      {
        type: "object",
        properties: { name: { type: "string", default: "\u001b[2J\nfaked\u{e0041}" } },
        required: ["name"],
      },
    ],
    ["the name of a type", { type: "\u001b[2J\u202e" }],
    [
      "the name of a member",
      { type: "object", properties: { "\u009b2J": { type: "\u001b[31m" } }, required: ["\u009b2J"] },
    ],
  ])("escapes control characters in %s", (_by, format) => {
    for (const line of page(format).split("\n")) expect(line).not.toMatch(UNPRINTABLE);
    expect(page(format)).not.toMatch(/^faked/m);
  });

  it("names who validates payloads: the engine, or possibly the worker", () => {
    expect(page({ type: "object" })).toContain("payloads    validated by the engine before each call\n");
    expect(page({ type: "object" }, [], false)).toContain(
      "payloads    not validated by the engine; the worker may validate them\n",
    );
  });

  it("lists triggers below each other", () => {
    const triggers = [
      { trigger_type: "http", config: { api_path: "orders", http_method: "POST" } },
      { trigger_type: "event", config: { topic: "orders.created" } },
    ];
    expect(page(null, triggers)).toContain("triggers    http   POST /orders\n            event  orders.created\n");
  });

  it("shows an example call with the same value if it must be escaped", () => {
    const sample = "two\nlines \u001b[31m\u{e0041}";
    const [, word = ""] =
      /name='(.*)'$/m.exec(
        page({ type: "object", properties: { name: { type: "string", default: sample } }, required: ["name"] }),
      ) ?? [];
    expect(JSON.parse(word)).toBe(sample);
  });
});
