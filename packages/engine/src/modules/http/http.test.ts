import { CallError } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineModule, type Module } from "../../kernel/module.ts";
import { manualClock, recordedSpans } from "../../testing/index.ts";
import { bind, errorOf, held, lastTriggerId, post, serve, site } from "./testing/site.ts";

/** A module whose function fails with the given error. */
const failing = defineModule({
  name: "test-failing",
  summary: "Fails on request",
  config: z.unknown(),
  start(context) {
    context.provideFunction({
      id: "test::fail",
      summary: "Throws",
      input: z.object({ body: z.object({ code: z.string(), message: z.string() }) }),
      handle({ body }) {
        throw new CallError(body.code, body.message);
      },
    });
    return { stop: () => {} };
  },
}) as unknown as Module<never>;

describe("a route", () => {
  it("hands the request to its function and answers with status, headers and body that the function gave", async () => {
    const { worker, url } = await site();
    await serve(
      worker,
      "/math/add-two-numbers",
      ({ body }) => ({
        status_code: 200,
        body: { c: (body as { a: number }).a + 200 },
        headers: { "Content-Type": "application/json" },
      }),
      { http_method: "POST" },
    );

    const response = await post(`${url}/math/add-two-numbers`, '{"a":100,"b":200}');

    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toBe('{"c":300}');
  });

  it("tells the function everything about the request", async () => {
    const { worker, url } = await site();
    await serve(worker, "users/:id/*rest", (input) => input, { http_method: "put" });

    const response = await fetch(`${url}/users/a%20b/docs/%C3%A9.txt?q=1&q=2+3&empty&__proto__=x`, {
      method: "PUT",
      body: '{ "n" : 1 }',
      headers: [
        ["content-type", "application/json; charset=utf-8"],
        ["x-tag", "one"],
        ["x-tag", "two"],
      ],
    });

    const seen = (await response.json()) as Record<string, Record<string, unknown>>;
    expect(seen).toMatchObject({
      path_params: { id: "a b", rest: "docs/é.txt" },
      path: "/users/:id/*rest",
      url: "/users/a%20b/docs/%C3%A9.txt?q=1&q=2+3&empty&__proto__=x",
      method: "PUT",
      body: { n: 1 },
      trigger: { type: "http", path: "/users/:id/*rest", method: "PUT" },
      client_address: "127.0.0.1",
    });
    expect(Object.entries(seen.query_params ?? {})).toEqual([
      ["q", "2 3"],
      ["empty", ""],
      ["__proto__", "x"],
    ]);
    expect(Object.entries(seen.query ?? {})).toEqual([
      ["q", ["1", "2 3"]],
      ["empty", [""]],
      ["__proto__", ["x"]],
    ]);
    expect(seen.headers).toMatchObject({ "content-type": "application/json; charset=utf-8", "x-tag": "one, two" });
    expect(seen.headers_all?.["content-type"]).toEqual(["application/json; charset=utf-8"]);
    expect(seen.request_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("gives the trigger's metadata to the function", async () => {
    const { worker, url } = await site();
    worker.serve("test::meta", (_data, frame) => frame.metadata);
    await bind(worker, "test::meta", { api_path: "/meta" }, { tier: "gold" });

    expect(await (await fetch(`${url}/meta`)).json()).toEqual({ tier: "gold" });
  });

  it("answers HEAD like GET without the body, and OPTIONS with the methods of the path", async () => {
    const { worker, url } = await site();
    await serve(worker, "/thing", ({ method }) => ({ headers: { "x-method": method as string }, body: { a: 1 } }));
    await bind(worker, "test::/thing", { api_path: "/thing", http_method: "DELETE" });

    const head = await fetch(`${url}/thing`, { method: "HEAD" });
    const options = await fetch(`${url}/thing`, { method: "OPTIONS" });

    expect([head.status, head.headers.get("content-length"), head.headers.get("x-method"), await head.text()]).toEqual([
      200,
      "7",
      "HEAD",
      "",
    ]);
    expect([options.status, options.headers.get("allow"), await options.text()]).toEqual([
      204,
      "DELETE, GET, HEAD, OPTIONS",
      "",
    ]);
  });

  it("answers 503 with Retry-After for a path that is not there while a worker that may serve it is starting", async () => {
    let names: readonly string[] = ["orders"];
    const starting = defineModule({
      name: "test-starting",
      summary: "Says that a worker is starting",
      config: z.unknown(),
      start(context) {
        context.reportStartingWorkers(() => names);
        return { stop: () => {} };
      },
    }) as unknown as Module<never>;
    const { worker, url } = await site({ modules: [starting] });
    await serve(worker, "/thing", () => 1);
    const early = await fetch(`${url}/orders/1`);
    expect([early.status, early.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await errorOf(early)).message).toBe(
      "no route for GET /orders/1 yet: orders is starting; try again shortly",
    );
    expect((await fetch(`${url}/thing`)).status).toBe(200);
    names = [];
    expect((await fetch(`${url}/orders/1`)).status).toBe(404);
  });

  it("answers 404 for a path that is not there and 405 with Allow for a method that is not", async () => {
    const { worker, url } = await site();
    await serve(worker, "/thing/:id", () => 1);

    const missing = await fetch(`${url}/nothing`);
    const wrong = await fetch(`${url}/thing/1`, { method: "POST", body: "{}" });

    expect([missing.status, await errorOf(missing)]).toEqual([
      404,
      expect.objectContaining({ code: "not_found", message: "no route for GET /nothing" }),
    ]);
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect((await errorOf(wrong)).code).toBe("method_not_allowed");
    expect((await fetch(`${url}/nothing`, { method: "OPTIONS" })).status).toBe(404);
  });

  it("decodes a parameter once (gap 28)", async () => {
    const { worker, url } = await site();
    await serve(worker, "/f/:name", ({ path_params }) => path_params);

    expect(await (await fetch(`${url}/f/%2541%3F%23%25`)).json()).toEqual({ name: "%41?#%" });
  });

  it("stays while another function waits for it, and goes to the other when its owner leaves (gap 31) (K9)", async () => {
    const { engine, worker, url } = await site();
    const second = await engine.connectWorker({ name: "second" });
    await serve(worker, "/shared/:id", () => "first");
    second.serve("test::second", () => "second");

    const refused = await bind(second, "test::second", { api_path: "/shared/:other" });
    expect(refused).toMatchObject({ status: "error", reason: "route taken by test::/shared/:id" });
    expect(await (await fetch(`${url}/shared/1`)).json()).toBe("first");

    const tookOver = second.next((frame) => frame.type === "triggerregistrationresult" && frame.status === "active");
    worker.say({ type: "unregistertrigger", id: lastTriggerId(1), trigger_type: "http" });
    await tookOver;
    expect(await (await fetch(`${url}/shared/1`)).json()).toBe("second");
  });

  it("asks its condition first", async () => {
    const { engine, worker, url } = await site();
    worker.serve(
      "test::allowed",
      (data) => (data as { query_params: Record<string, string> }).query_params.ok === "yes",
    );
    await serve(worker, "/guarded", () => "in", { condition_function_id: "test::allowed" });
    await serve(worker, "/lost", () => "in", { condition_function_id: "test::no-such-condition" });

    const refused = await fetch(`${url}/guarded?ok=no`);
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({ error: { code: "condition_not_met" }, skipped: true });
    expect(await (await fetch(`${url}/guarded?ok=yes`)).json()).toBe("in");
    expect((await fetch(`${url}/lost`)).status).toBe(503);
    expect(engine.kernel.router.counts.inFlight).toBe(0);
  });

  it("comes and goes without a failed request", async () => {
    const { worker, url } = await site();
    await serve(worker, "/steady", () => "here");
    const answers = Promise.all(Array.from({ length: 100 }, async () => (await fetch(`${url}/steady`)).status));
    for (let round = 0; round < 50; round++) {
      await serve(worker, `/other/${round}`, () => 1);
      worker.say({ type: "unregistertrigger", id: lastTriggerId(), trigger_type: "http" });
    }

    expect(new Set(await answers)).toEqual(new Set([200]));
  });
});

describe("a trigger's config", () => {
  it.each([
    [{}, "api_path", "is required for http triggers"],
    [{ api_path: 5 }, "api_path", "expected the path"],
    [{ api_path: "" }, "api_path", "expected the path"],
    [{ api_path: "/a", http_method: "FETCH" }, "http_method", "expected one of DELETE, GET"],
    [{ api_path: "/_console/x" }, "api_path", "belongs to the engine"],
    [{ api_path: "healthz" }, "api_path", "belongs to the engine"],
    [{ api_path: "/readyz" }, "api_path", "belongs to the engine"],
    [{ api_path: "/%72eadyz" }, "api_path", "belongs to the engine"],
    [{ api_path: "/a?b=c" }, "api_path", "without ? and #"],
    [{ api_path: "/a/*" }, "api_path", "needs a name"],
    [{ api_path: "/a/:" }, "api_path", "needs a name"],
    [{ api_path: "/a/:id.json" }, "api_path", "fills the whole segment"],
    [{ api_path: "/a/*rest/b" }, "api_path", "nothing may follow"],
    [{ api_path: "/:a/:a" }, "api_path", "is twice"],
    [{ api_path: "/a//b" }, "api_path", "empty segment"],
    [{ api_path: "/a/../b" }, "api_path", "dot segment"],
    [{ api_path: "/a%2Fb" }, "api_path", "decodes to a slash"],
    [{ api_path: "/a{b}" }, "api_path", "holds one of"],
    [{ api_path: "/a", timeout_ms: 0 }, "timeout_ms", "whole number from 1"],
    [{ api_path: "/a", condition_function_id: 7 }, "condition_function_id", "string"],
    [{ api_path: "/a", middleware_function_ids: "auth" }, "middleware_function_ids", "array"],
    [
      { api_path: "/a", middleware_function_ids: [{ function_id: "auth", phase: "later" }] },
      "middleware_function_ids",
      "expected a function id",
    ],
    [{ api_path: "/a", body: "stream", streaming: false }, "streaming", "cannot be false"],
    [{ api_path: "/a", concurrency_limit: 0 }, "concurrency_limit", "whole number from 1"],
    [{ api_path: "/a", rate_limit: 5 }, "rate_limit", "{requests, per_ms}"],
    [{ api_path: "/a", cors: {} }, "cors", "allowed_origins"],
    [{ api_path: "/a", metod: "GET" }, "metod", "unknown member"],
  ])("%j is refused with a sentence about %s", async (config, key, sentence) => {
    const { worker } = await site();
    worker.serve("test::f", () => 1);
    const { error } = (await bind(worker, "test::f", config)) as { error: { code: string; message: string } };
    expect(error.code).toBe("trigger_registration_failed");
    expect(error.message).toContain(key);
    expect(error.message).toContain(sentence);
  });
});

describe("a request body", () => {
  it("is read as its content type says", async () => {
    const { worker, url } = await site();
    await serve(worker, "/echo", ({ body }) => ({ body }), { http_method: "POST" });
    const echo = async (body: string | Buffer, type: string): Promise<unknown> =>
      (await post(`${url}/echo`, body, type)).json();

    expect(await echo("[1]", "application/vnd.api+json")).toEqual([1]);
    expect(await echo('\uFEFF{"a":1}', "text/json")).toEqual({ a: 1 });
    expect(await echo("a=1&b=x+y&a=2&__proto__=z", "application/x-www-form-urlencoded")).toEqual(
      JSON.parse('{"a":"2","b":"x y","__proto__":"z"}'),
    );
    expect(await echo("plain \u{1F600}", "text/plain")).toBe("plain \u{1F600}");
    expect(await echo("", "application/json")).toBeNull();
    expect(await echo("", "application/octet-stream")).toBeNull();
  });

  it("keeps __proto__ and repeated keys as they came", async () => {
    const { worker, url } = await site();
    await serve(worker, "/echo", ({ body }) => ({ body: Object.entries(body as object) }), { http_method: "POST" });

    expect(await (await post(`${url}/echo`, '{"__proto__":{"polluted":true},"constructor":1}')).json()).toEqual([
      ["__proto__", { polluted: true }],
      ["constructor", 1],
    ]);
  });

  it.each([
    ['{"a":}', 'unexpected "}" at line 1, column 6 (position 5)'],
    ['{\n  "a": 1,\n}', 'unexpected "}" at line 3, column 1'],
    ["[1, 2", "unexpected end of the text"],
    ["nope", 'unexpected "n" at line 1, column 1'],
    [`${"[".repeat(200)}${"]".repeat(200)}`, "nested deeper than 128 levels"],
    ["[".repeat(500_000), "unexpected end of the text"],
  ])("that is not good JSON is answered 400 with the place: %.20s (gap 22)", async (body, message) => {
    const { worker, url } = await site();
    await serve(worker, "/echo", () => 1, { http_method: "POST" });

    const response = await post(`${url}/echo`, body);

    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error.code).toBe("invalid_json");
    expect(error.message).toContain(message);
  });

  it.each([
    ["ours", undefined],
    ["a published client", []],
  ])("may be nested 128 levels deep, also in the answer of %s, and no deeper", async (_who, features) => {
    const { engine, worker, url } = await site();
    const server = await engine.connectWorker(features === undefined ? {} : { features });
    server.serve("echo", (input) => ({ status_code: 200, body: (input as { body: unknown }).body }));
    await bind(worker, "echo", { api_path: "/echo", http_method: "POST" });
    const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

    const answer = await post(`${url}/echo`, nested(128));

    expect([answer.status, await answer.text()]).toEqual([200, nested(128)]);
    expect((await errorOf(await post(`${url}/echo`, nested(129)))).message).toContain("nested deeper than 128 levels");
  });

  it("is refused with 415 or 400 when it cannot be understood", async () => {
    const { worker, url } = await site();
    await serve(worker, "/echo", () => 1, { http_method: "POST", streaming: false });
    const refusal = async (body: string | Buffer, headers: Record<string, string>): Promise<unknown[]> => {
      const response = await fetch(`${url}/echo`, { method: "POST", body, headers });
      const { code, message } = await errorOf(response);
      return [response.status, code, message];
    };

    for (const type of ["application/octet-stream", "multipart/form-data; boundary=x", "application/x-ndjson"]) {
      expect(await refusal("x", { "content-type": type })).toEqual([
        415,
        "unsupported_media_type",
        expect.stringContaining(type),
      ]);
    }
    expect(await refusal("{}", { "content-type": "application/json; charset=latin1" })).toEqual([
      415,
      "unsupported_media_type",
      expect.stringContaining("latin1"),
    ]);
    expect(await refusal("{}", { "content-type": "application/json", "content-encoding": "gzip" })).toEqual([
      415,
      "unsupported_media_type",
      expect.stringContaining("gzip"),
    ]);
    expect(await refusal(Buffer.from([0x22, 0xff, 0x22]), { "content-type": "application/json" })).toEqual([
      400,
      "invalid_json",
      expect.stringContaining("UTF-8"),
    ]);
    expect(await refusal(Buffer.from([0xff]), { "content-type": "text/plain" })).toEqual([
      400,
      "invalid_request",
      expect.stringContaining("UTF-8"),
    ]);
    expect(await refusal("a=%zz", { "content-type": "application/x-www-form-urlencoded" })).toEqual([
      400,
      "invalid_request",
      expect.stringContaining("%zz"),
    ]);
  });

  it("without a content type is answered 415 that says what to name, whatever its size", async () => {
    const { worker, url } = await site({ config: { body_limit_bytes: 100 } });
    await serve(worker, "/echo", ({ body }) => ({ body }), { http_method: "POST" });
    for (const body of [Buffer.from("x"), Buffer.alloc(1_000), new Blob([Buffer.alloc(1_000)]).stream()]) {
      const response = await fetch(`${url}/echo`, { method: "POST", body, duplex: "half" } as RequestInit);
      const { code, message } = await errorOf(response);
      expect([response.status, code, message]).toEqual([
        415,
        "unsupported_media_type",
        expect.stringContaining("application/octet-stream) streams"),
      ]);
    }
    const empty = await fetch(`${url}/echo`, {
      method: "POST",
      body: new Blob([]).stream(),
      duplex: "half",
    } as RequestInit);
    expect([empty.status, await empty.json()]).toEqual([200, null]);
  });

  it("over the limit is told whose limit it is over", async () => {
    const { worker, url } = await site({ config: { body_limit_bytes: 100 } });
    await serve(worker, "/module", () => 1, { http_method: "POST" });
    await serve(worker, "/route", () => 1, { http_method: "POST", body_limit_bytes: 10 });
    const message = async (path: string): Promise<string> =>
      (await errorOf(await post(`${url}${path}`, `"${"x".repeat(200)}"`))).message;
    expect(await message("/module")).toBe("the body is over the limit of 100 bytes (body_limit_bytes of svc-http)");
    expect(await message("/route")).toBe("the body is over the limit of 10 bytes (body_limit_bytes of the route)");
  });

  it("over the limit is answered 413, and the limit follows the config while the engine runs", async () => {
    const { engine, worker, url } = await site({ config: { body_limit_bytes: 100 } });
    await serve(worker, "/echo", () => "ok", { http_method: "POST" });
    const body = JSON.stringify("x".repeat(200));

    const refused = await post(`${url}/echo`, body);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([413, "payload_too_large"]);

    expect(await engine.applyModules([{ name: "svc-http", config: { body_limit_bytes: 1000 } }])).toEqual([]);
    expect((await post(`${url}/echo`, body)).status).toBe(200);
  });
});

describe("an answer", () => {
  it("is the returned value itself when it does not describe a response (gap 24)", async () => {
    const { worker, url } = await site();
    const values: Record<string, unknown> = {
      number: 5,
      text: "hi",
      list: [1],
      nothing: null,
      empty: {},
      post: { id: 1, body: "a blog post", title: "t" },
    };
    await serve(worker, "/plain/:kind", ({ path_params }) => values[(path_params as { kind: string }).kind]);

    for (const [kind, value] of Object.entries(values)) {
      const response = await fetch(`${url}/plain/${kind}`);
      expect([response.status, response.headers.get("content-type"), await response.json()]).toEqual([
        200,
        "application/json",
        value,
      ]);
    }
  });

  it("is read from the published Python client's response class, which spells its status statusCode", async () => {
    const { worker, url } = await site();
    const values: Record<string, unknown> = {
      class: { statusCode: 201, headers: { "x-own": "yes" }, body: { made: 1 } },
      other: { statusCode: 201, body: { made: 1 } },
    };
    await serve(worker, "/class/:kind", ({ path_params }) => values[(path_params as { kind: string }).kind]);

    const made = await fetch(`${url}/class/class`);
    expect([made.status, made.headers.get("x-own"), await made.json()]).toEqual([201, "yes", { made: 1 }]);
    const plain = await fetch(`${url}/class/other`);
    expect([plain.status, await plain.json()]).toEqual([200, values.other]);
  });

  it("with a status outside 200 to 599 is a 500 that names the function", async () => {
    const { worker, url } = await site();
    await serve(worker, "/status/:n", ({ path_params }) => ({
      status_code: Number((path_params as { n: string }).n),
      body: 1,
    }));

    for (const n of ["100", "199", "600", "200.5", "-1"]) {
      const response = await fetch(`${url}/status/${n}`);
      expect(response.status).toBe(500);
      expect(await errorOf(response)).toMatchObject({
        code: "invalid_answer",
        message: expect.stringContaining("test::/status/:n"),
      });
    }
    expect((await fetch(`${url}/status/418`)).status).toBe(418);
  });

  it("never carries headers that could split or reframe it, and says so once in the log", async () => {
    const { engine, worker, url } = await site();
    await serve(worker, "/headers", () => ({
      headers: {
        "x-good": "yes",
        "x-split": "a\r\nset-cookie: evil=1",
        "bad name": "x",
        "transfer-encoding": "chunked",
        "Content-Length": "3",
        "x-number": 5,
        "set-cookie": ["a=1", "b=2"],
      },
      body: "hello",
    }));

    const response = await fetch(`${url}/headers`);
    expect([response.headers.get("x-good"), response.headers.getSetCookie(), await response.json()]).toEqual([
      "yes",
      ["a=1", "b=2"],
      "hello",
    ]);
    for (const name of ["x-split", "transfer-encoding", "x-number"]) expect(response.headers.get(name)).toBeNull();
    expect(response.headers.get("content-length")).toBe("7");

    await (await fetch(`${url}/headers`)).text();
    const warnings = engine.logs.filter(({ level }) => level === "warn");
    expect(warnings).toEqual([
      expect.objectContaining({
        fields: expect.objectContaining({
          function_id: "test::/headers",
          headers: ["x-split", "bad name", "transfer-encoding", "Content-Length", "x-number"],
        }),
      }),
    ]);
  });

  it("whose function failed carries code and message but no stack, and the log has the same error id", async () => {
    const { engine, worker, url } = await site();
    await serve(worker, "/boom", () => {
      throw new Error("it broke");
    });

    const response = await fetch(`${url}/boom`);
    expect(response.status).toBe(500);
    const error = await errorOf(response);
    expect(error).toEqual({ code: "invocation_failed", message: "it broke", error_id: expect.any(String) });
    expect(engine.logs.filter(({ fields }) => fields.error_id === error.error_id)).toHaveLength(1);
  });

  it("has the status that fits the error code", async () => {
    const { worker, url } = await site({ modules: [failing] });
    await bind(worker, "test::fail", { api_path: "/fail", http_method: "POST" });
    const expected: [string, number][] = [
      ["NOT_FOUND", 404],
      ["FORBIDDEN", 403],
      ["state_conflict", 409],
      ["invalid_input", 400],
      ["call_timeout", 504],
      ["worker_overloaded", 503],
      ["invocation_stopped", 503],
      ["invalid_message", 500],
      ["function_not_found", 404],
      ["out_of_stock", 500],
    ];
    for (const [code, status] of expected) {
      const response = await post(`${url}/fail`, JSON.stringify({ code, message: "because" }));
      expect([code, response.status, await errorOf(response)]).toEqual([
        code,
        status,
        { code, message: "because", error_id: expect.any(String) },
      ]);
      expect(response.headers.get("retry-after")).toBe(status === 503 ? "1" : null);
    }
  });

  it("is 503 with Retry-After while no worker provides the function, and good again when one does", async () => {
    const { engine, worker, url } = await site();
    await serve(worker, "/away", () => "back");
    const gone = new Promise<void>((resolve) => {
      engine.directory.onChange(({ kind, op }) => {
        if (kind === "function" && op === "removed") resolve();
      });
    });
    worker.close();
    await gone;

    const response = await fetch(`${url}/away`);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await errorOf(response)).toMatchObject({
      code: "function_not_found",
      message: "the worker that serves /away is away",
    });

    const again = await engine.connectWorker();
    await serve(again, "/away", () => "back");
    expect(await (await fetch(`${url}/away`)).json()).toBe("back");
  });

  it("is 504 when the function stays silent past the route's deadline, and the function is told", async () => {
    const clock = manualClock();
    const { worker, url } = await site({ clock, config: { default_timeout_ms: 5_000 } });
    const { handle, calls } = held();
    await serve(worker, "/slow", handle);
    await serve(worker, "/slower", handle, { timeout_ms: 60_000 });
    const slow = fetch(`${url}/slow`);
    const slower = fetch(`${url}/slower`);
    await calls.count(2);
    const slowCall = calls.items.find(({ function_id }) => function_id === "test::/slow");
    const told = worker.next(
      (frame) => frame.type === "cancelinvocation" && frame.invocation_id === slowCall?.invocation_id,
    );

    clock.advance(5_000);

    const response = await slow;
    expect([response.status, (await errorOf(response)).code]).toEqual([504, "call_timeout"]);
    await told;
    clock.advance(55_000);
    expect((await slower).status).toBe(504);
  });
});

describe("the module", () => {
  it("carries a well-formed trace on and drops an ill one", async () => {
    const { worker, url } = await site();
    await serve(worker, "/trace", (_input, { traceparent, baggage }) => ({
      body: { traceparent: traceparent ?? null, baggage: baggage ?? null },
    }));
    const seen = async (headers: Record<string, string>): Promise<unknown> =>
      (await fetch(`${url}/trace`, { headers })).json();
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    expect(await seen({ traceparent, baggage: "user=7" })).toEqual({ traceparent, baggage: "user=7" });
    const ill = (await seen({
      traceparent: "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      baggage: "x".repeat(8193),
    })) as Record<string, unknown>;
    expect(ill.traceparent).not.toBe("00-00000000000000000000000000000000-00f067aa0ba902b7-01");
    expect(ill.baggage).toBeNull();
  });

  it("answers 503 with Retry-After when the limit of requests in work is reached", async () => {
    const { worker, url } = await site({ config: { concurrency_request_limit: 2 } });
    const { handle, calls, release } = held();
    await serve(worker, "/hold", handle);
    const inWork = [fetch(`${url}/hold`), fetch(`${url}/hold`)];
    await calls.count(2);

    const refused = await fetch(`${url}/hold`);
    expect([refused.status, refused.headers.get("retry-after"), (await errorOf(refused)).code]).toEqual([
      503,
      "1",
      "overloaded",
    ]);

    release();
    expect((await Promise.all(inWork)).map(({ status }) => status)).toEqual([200, 200]);
    const after = fetch(`${url}/hold`);
    await calls.count(3);
    release();
    expect((await after).status).toBe(200);
  });

  it("refuses a flood at that limit without a span and with one log line a second, so that it costs less than serving", async () => {
    const spans = recordedSpans();
    const clock = manualClock();
    const { engine, worker, url } = await site({
      clock,
      config: { concurrency_request_limit: 1, cors: { allowed_origins: ["https://shop.example"] } },
      modules: [spans.module as unknown as Module<never>],
    });
    const { handle, calls, release } = held();
    await serve(worker, "/hold", handle);
    const inWork = fetch(`${url}/hold`);
    await calls.count(1);
    const refused: Response[] = [];
    for (let n = 0; n < 40; n++)
      refused.push(await fetch(`${url}/${n}`, { headers: { origin: "https://shop.example" } }));
    expect(refused.map(({ status }) => status)).toEqual(new Array(40).fill(503));
    // A page may read the refusal.
    expect(refused[0]?.headers.get("access-control-allow-origin")).toBe("https://shop.example");
    expect(refused[0]?.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    const lines = () => engine.logs.filter(({ message }) => message.startsWith("a request was refused"));
    expect(lines()).toHaveLength(10);
    clock.advance(1_000);
    expect(lines().slice(10)).toMatchObject([{ level: "warn", fields: { limit: 1, suppressed: 29 } }]);
    release();
    await inWork;
    await expect.poll(() => spans.ended.filter(({ name }) => !name.startsWith("call "))).toHaveLength(1);
  });

  it("withdraws the call when the client leaves", async () => {
    const { engine, worker, url } = await site();
    const { handle, calls } = held();
    await serve(worker, "/hold", handle);
    const abort = new AbortController();
    const request = fetch(`${url}/hold`, { signal: abort.signal });
    await calls.count(1);
    const told = worker.next(
      (frame) => frame.type === "cancelinvocation" && frame.invocation_id === calls.items[0]?.invocation_id,
    );

    abort.abort();

    await expect(request).rejects.toThrow();
    await told;
    expect(engine.kernel.router.counts.inFlight).toBe(0);
  });

  it("finishes requests under way when it is stopped and refuses new ones", async () => {
    const { engine, worker, url } = await site();
    const { handle, calls, release } = held();
    await serve(worker, "/hold", handle);
    const underWay = fetch(`${url}/hold`);
    await calls.count(1);

    const stopping = engine.applyModules([]);
    const refused = await fetch(`${url}/hold`);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, "draining"]);
    release();

    expect((await underWay).status).toBe(200);
    await stopping;
    expect((await fetch(`${url}/hold`)).status).toBe(404);
  });

  it.each([
    [{ port: 70_000 }, "port"],
    [{ default_timeout_ms: "soon" }, "default_timeout_ms"],
    [{ default_timeout: 1, default_timeout_ms: 2 }, "default_timeout"],
    [{ body_limit_bytes: 128 * 1024 * 1024 }, "body_limit_bytes"],
    [{ concurrency_request_limit: 0 }, "concurrency_request_limit"],
    [{ cors: {} }, "cors"],
    [{ cors: { allowed_origins: [] } }, "allowed_origins"],
    [{ cors: { allowed_origins: ["https://a.example/path"] } }, "allowed_origins"],
    [{ cors: { allowed_origins: ["*"], credentials: true } }, "credentials"],
    [{ middleware: [{ function: "x" }] }, "middleware"],
    [{ trusted_proxies: ["10.0.0.0/33"] }, "trusted_proxies"],
    [{ trust_proxy: true }, "trust_proxy"],
    [{ body_limit: 1, body_limit_bytes: 2 }, "body_limit"],
    [{ rate_limit: { requests: 0, per_ms: 5 } }, "rate_limit"],
    [{ error_format: "old" }, "error_format"],
    [{ bodylimit: 5 }, "bodylimit"],
  ])("refuses the config %j and names %s", async (config, key) => {
    await expect(site({ config })).rejects.toThrow(key);
  });

  it("takes the config of the older names and the block that is written by default", async () => {
    const { worker, url } = await site({
      config: {
        port: 3111,
        host: "127.0.0.1",
        default_timeout: 30_000,
        concurrency_request_limit: 1024,
        cors: null,
        middleware: [],
      },
    });
    await serve(worker, "/ok", () => 1);
    expect((await fetch(`${url}/ok`)).status).toBe(200);
  });
});
