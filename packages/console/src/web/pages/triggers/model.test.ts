import { describe, expect, it } from "vitest";
import { cronText } from "../../lib/cron-text.ts";
import type { TriggerItem } from "../../model/triggers.ts";
import { bodyOf, hexDump } from "./http/body.ts";
import { type HttpDraft, initialDraft, pathParameters, requestOf } from "./http/http-request.ts";
import { countKinds, filterTriggers, sectionRows, summaryOf } from "./model.ts";
import { publishedText, publishPayload, publishTargetOf } from "./publish.ts";

function trigger(trigger_type: string, config: unknown, change: Partial<TriggerItem> = {}): TriggerItem {
  return {
    id: `${trigger_type} ${JSON.stringify(config)}`,
    trigger_type,
    function_id: "f::x",
    config,
    metadata: null,
    worker_name: "w",
    status: "active",
    reason: null,
    internal: false,
    ...change,
  };
}

const items = [
  trigger("http", { api_path: "users/:id", http_method: "post" }),
  trigger("http", { api_path: "/a" }),
  trigger("cron", { expression: "0 0 9 * * 1", timezone: "UTC" }),
  trigger("queue", { queue: "slow" }),
  trigger("durable:subscriber", { topic: "billing" }),
  trigger("subscribe", { topic: "t.*" }),
  trigger("state:deleted", { scope: "math", prefix: "p" }),
  trigger("stream", { stream_name: "s" }),
  trigger("constructor", null),
  trigger("event", { event: "e" }, { internal: true }),
];

describe("the list of triggers", () => {
  it("groups them by kind; the sections have as many as the tabs count", () => {
    const counts = countKinds(items);
    expect(counts).toEqual({ http: 2, cron: 1, queue: 2, event: 2, state: 1, other: 2 });
    for (const row of sectionRows(items, new Set()))
      if (row.row === "section") expect(row.count).toBe(counts[row.kind]);
    expect(sectionRows(items, new Set(["http"])).filter((row) => row.row === "trigger")).toHaveLength(items.length - 2);
  });

  it("summarizes when each fires", () => {
    expect(items.map(summaryOf)).toEqual([
      "POST /users/:id",
      "GET /a",
      "0 0 9 * * 1 · UTC",
      "slow",
      "billing",
      "t.*",
      "scope math · keys p…",
      '{"stream_name":"s"}',
      "null",
      "e",
    ]);
  });

  it("can be searched, and hides system triggers by default", () => {
    expect(filterTriggers(items, { q: "post users", system: false }).map(summaryOf)).toEqual(["POST /users/:id"]);
    expect(filterTriggers(items, { q: "", system: true })).toHaveLength(items.length);
    expect(filterTriggers(items, { q: "", system: false })).toHaveLength(items.length - 1);
  });
});

describe("the HTTP tester", () => {
  const draft = (change: Partial<HttpDraft>): HttpDraft => ({ ...initialDraft("POST"), ...change });
  const row = (name: string, value: string, on = true) => ({ id: Math.random(), name, value, on });

  it("fills in path parameters of any name and keeps slashes only in the tail", () => {
    expect(pathParameters("/a/:id2/:__proto__/*rest")).toEqual([
      { name: "id2", isTail: false },
      { name: "__proto__", isTail: false },
      { name: "rest", isTail: true },
    ]);
    const params = Object.fromEntries([
      ["id2", "a b/c"],
      ["__proto__", "ü?"],
      ["rest", "x/y z"],
    ]);
    expect(requestOf(draft({ params }), "/a/:id2/:__proto__/*rest")).toMatchObject({
      request: { path: "/a/a%20b%2Fc/%C3%BC%3F/x/y%20z" },
    });
    expect(requestOf(draft({}), "/a/:id2")).toEqual({ problem: "Enter a value for :id2" });
  });

  it("sends duplicate parameters, skips disabled rows, and encodes values", () => {
    expect(requestOf(draft({ query: [row("x", "1"), row("x", "a&b"), row("y", "2", false)] }), "/a")).toMatchObject({
      request: { path: "/a?x=1&x=a%26b" },
    });
  });

  it("prefers the user's headers over its own, and rejects headers with line breaks", () => {
    const made = requestOf(
      draft({ headers: [row("Content-Type", "application/x")], auth: { kind: "basic", user: "ü", password: "p" } }),
      "/a",
    );
    expect(made).toMatchObject({
      request: {
        headers: [
          ["Content-Type", "application/x"],
          ["authorization", "Basic w7w6cA=="],
        ],
      },
    });
    expect(requestOf(draft({ headers: [row("x", "a\r\nb: c")] }), "/a")).toMatchObject({
      problem: expect.stringContaining("not a valid header"),
    });
  });

  it("sends no body for GET, and rejects invalid JSON", () => {
    expect(requestOf(draft({ method: "GET", body: "{" }), "/a")).toEqual({
      request: { method: "GET", path: "/a", headers: [] },
    });
    expect(requestOf(draft({ body: "{" }), "/a")).toMatchObject({ problem: expect.stringContaining("not JSON") });
    expect(requestOf(draft({ bodyKind: "form", form: [row("a", "b c")] }), "/a")).toMatchObject({
      request: { body: "a=b+c" },
    });
  });

  it("detects the kind of a body", () => {
    const type = (value: string) => ({ headers: [["Content-Type", value]] as const });
    expect(bodyOf({ body: { text: "" }, ...type("text/plain") })).toEqual({ kind: "empty" });
    expect(bodyOf({ body: { text: "<b>" }, ...type("text/html; charset=utf-8") })).toMatchObject({ kind: "html" });
    expect(bodyOf({ body: { text: "{}" }, ...type("application/problem+json") })).toMatchObject({ kind: "json" });
    expect(bodyOf({ body: { base64: "AA==" }, ...type("image/png") })).toMatchObject({
      kind: "image",
      url: "data:image/png;base64,AA==",
    });
    expect(bodyOf({ body: { base64: "AA==" }, ...type("image/svg+xml") })).toMatchObject({ kind: "binary" });
    expect(hexDump(btoa("\x00\xffAB"))).toBe(`00000000  ${"00 ff 41 42".padEnd(47)}  ..AB`);
    expect(hexDump(btoa("x".repeat(9_000))).split("\n")).toHaveLength(256);
  });
});

it.each([
  ["0 0 9 * * 1", "At 09:00, only on Monday"],
  ["*/30 * * * * *", "Every 30 seconds"],
  ["0 30 8 1 1 * 2027", "2027"],
])("describes %s", async (expression, text) => {
  expect(await cronText(expression)).toContain(text);
});
it("does not describe an invalid expression", async () => expect(await cronText("no cron")).toBeUndefined());

it("publishes by the kind of the trigger, with all digits of numbers", () => {
  const made = items.slice(3, 6).map(publishTargetOf);
  expect(made.map(({ functionId, name, isPattern }) => [functionId, name, isPattern])).toEqual([
    ["queue::enqueue", "slow", false],
    ["svc::durable::publish", "billing", false],
    ["event::emit", "t.*", true],
  ]);
  const event = made[2] ?? expect.fail();
  expect(publishPayload(event, 'a"b', " 9007199254740993 ")).toBe('{"event":"a\\"b","data":9007199254740993}');
  expect(publishedText(event, { delivered_to: 0 })).toBe("Published; no trigger received it.");
});
