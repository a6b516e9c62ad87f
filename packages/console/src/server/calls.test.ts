import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startTestEngine, type TestEngine } from "@svc-runtime/engine/test-kit";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Hello, HttpTestResult, Probe } from "../contract/api.ts";
import { answerLine } from "./call-lines.ts";
import { MAX_ANSWER_BYTES } from "./http-test.ts";
import { dataOf, errorOf, type TestConsole, testConsole } from "./running-console.test-support.ts";

let engine: TestEngine;
let worker: Worker;
let served: TestConsole;
let readOnly: TestConsole;
let disconnected: TestConsole;
/** Emits "start" and "abort" of the function that never returns. */
const waiting = new EventTarget();
const emitted = (name: string): Promise<unknown> => once(waiting, name);

beforeAll(async () => {
  engine = await startTestEngine({ modules: ["svc-http", "svc-state"] });
  worker = connect(engine.url, { name: "probe", logger: silentLogger, handleSignals: false });
  worker.registerFunction("probe::echo", (input) => input);
  worker.registerFunction("probe::fail", () => {
    throw new Error("on purpose");
  });
  worker.registerFunction("probe::wait", (_input, { signal }) => {
    waiting.dispatchEvent(new Event("start"));
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        waiting.dispatchEvent(new Event("abort"));
        reject(new Error("aborted"));
      });
    });
  });
  worker.registerFunction(
    "probe::http",
    (request: { path_params: { what: string }; headers: Record<string, string>; method: string; query: unknown }) => {
      switch (request.path_params.what) {
        case "large":
          return {
            status_code: 200,
            headers: { "content-type": "text/plain" },
            body: "é".repeat(MAX_ANSWER_BYTES / 2 + 1_000),
          };
        case "moved":
          return { status_code: 302, headers: { location: "http://evil.example/" }, body: "" };
        default:
          return {
            status_code: 201,
            headers: { "x-twice": ["a", "b"] },
            body: { headers: request.headers, method: request.method, query: request.query },
          };
      }
    },
  );
  for (const method of ["GET", "POST", "HEAD"] as const) {
    const { registered } = worker.registerTrigger({
      type: "http",
      function_id: "probe::http",
      config: { api_path: "/test/:what", http_method: method },
    });
    await registered;
  }
  const slow = worker.registerTrigger({
    type: "http",
    function_id: "probe::wait",
    config: { api_path: "/slow", http_method: "GET" },
  });
  await slow.registered;
  [served, readOnly, disconnected] = await Promise.all([
    testConsole(engine),
    testConsole(engine, ["--read-only"]),
    testConsole(),
  ]);
  for (const each of [served, readOnly]) await connected(each);
});

afterAll(async () => {
  await Promise.all([served, readOnly, disconnected].map((each) => each?.stop()));
  await worker?.shutdown();
  await engine?.stop();
});

/** Resolves when the console is connected to the engine. */
async function connected(target: TestConsole): Promise<void> {
  await vi.waitFor(
    async () => dataOf<unknown>(await target.ask("/api/call", { function_id: "engine::info", payload: {} })),
    { timeout: 20_000 },
  );
}

describe("a call", () => {
  it("returns the engine's result with exact numbers", async () => {
    const value = '{"big":12345678901234567890,"small":1e-7,"exact":1.10,"zero":-0}';
    const set = `{"function_id":"state::set","payload":{"scope":"a/b","key":"c d","value":${value}}}`;
    expect((await served.ask("/api/call", set)).status).toBe(200);
    const got = await served.ask("/api/call", '{"function_id":"state::get","payload":{"scope":"a/b","key":"c d"}}');
    expect(got.body).toBe(`{"ok":true,"data":${value}}`);
  });

  it("that fails has the engine's error code and its status", async () => {
    const missing = await served.ask("/api/call", { function_id: "nope::nope" });
    expect([missing.status, errorOf(missing)]).toMatchObject([
      404,
      { code: "function_not_found", message: "Function nope::nope not found" },
    ]);
    const late = await served.ask("/api/call", { function_id: "probe::wait", timeout_ms: 50 });
    expect([late.status, errorOf(late).code]).toEqual([504, "call_timeout"]);
  });

  it("is cancelled if the page aborts it", async () => {
    const [started, aborted, gone] = [emitted("start"), emitted("abort"), new AbortController()];
    const answer = served.ask("/api/call", { function_id: "probe::wait" }, { signal: gone.signal });
    await started;
    gone.abort();
    await expect(answer).rejects.toThrow("aborted");
    await aborted;
  });

  it("fails while the engine is disconnected, and says why", async () => {
    const answer = await disconnected.ask("/api/call", { function_id: "engine::info" });
    expect([answer.status, errorOf(answer).code]).toEqual([503, "disconnected"]);
    await expect
      .poll(async () => errorOf(await disconnected.ask("/api/call", { function_id: "engine::info" })).message)
      .toContain("nothing listens there");
  });
});

describe("several calls in one request", () => {
  const list = { function_id: "state::groups", payload: {} };

  it("each have a line with their answer, as soon as they end", async () => {
    await served.ask("/api/call", {
      function_id: "state::set",
      payload: { scope: "lines", key: "k", value: { text: "two\nlines" } },
    });
    const answer = await served.ask("/api/calls", {
      calls: [
        list,
        { function_id: "state::get", payload: { scope: "lines", key: "k" } },
        { function_id: "state::get" },
      ],
    });
    expect(answer.status).toBe(200);
    const lines = answer.body
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { at: number; ok: boolean })
      .sort((a, b) => a.at - b.at);
    expect(lines).toMatchObject([
      { at: 0, ok: true, data: { items: expect.anything() } },
      { at: 1, ok: true, data: { text: "two\nlines" } },
      { at: 2, ok: false, error: { code: expect.any(String), message: expect.any(String) } },
    ]);
  });

  it("have one line each, also if their answer is JSON of several lines", () => {
    const line = answerLine(3, '{\r\n  "text": "two\\nlines",\n  "list": [\n1\n]\n}');
    expect(line).not.toMatch(/[\r\n]/);
    expect(JSON.parse(line)).toEqual({ at: 3, ok: true, data: { text: "two\nlines", list: [1] } });
  });

  it("are rejected together if one may change something, or if there are too many", async () => {
    const change = await served.ask("/api/calls", { calls: [list, { function_id: "probe::echo" }] });
    expect([change.status, errorOf(change)]).toMatchObject([
      400,
      { code: "invalid_input", message: expect.stringContaining("probe::echo may change something") },
    ]);
    expect((await served.ask("/api/calls", { calls: Array(51).fill(list) })).status).toBe(400);
    expect((await served.ask("/api/calls", { calls: [] })).status).toBe(400);
  });

  it("each say that the engine is disconnected", async () => {
    const answer = await disconnected.ask("/api/calls", { calls: [list, list] });
    const codes = answer.body
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { error: { code: string } }).error.code);
    expect(codes).toEqual(["disconnected", "disconnected"]);
  });
});

describe("read only", () => {
  it("allows reads and rejects changes before they reach the engine", async () => {
    expect((await readOnly.ask("/api/call", { function_id: "state::list", payload: { scope: "a/b" } })).status).toBe(
      200,
    );
    expect(dataOf<Hello>(await readOnly.ask("/api/hello")).read_only).toBe(true);
    const changes: readonly (readonly [string, unknown])[] = [
      ["/api/call", { function_id: "state::set", payload: { scope: "ro", key: "k", value: 1 } }],
      ["/api/call", { function_id: "probe::echo" }],
      ["/_console/invoke", { function_id: "probe::echo" }],
      ["/api/http-request", { method: "GET", path: "/test/x", headers: [] }],
      ["/api/import", { function_id: "engine::traces::import", format: "otlp_json", lines: [] }],
    ];
    for (const [path, body] of changes) {
      const answer = await readOnly.ask(path, body);
      expect([answer.status, errorOf(answer).code]).toEqual([403, "read_only"]);
    }
    expect(
      dataOf<unknown>(await served.ask("/api/call", { function_id: "state::get", payload: { scope: "ro", key: "k" } })),
    ).toBeNull();
  });
});

describe("POST /_console/invoke", () => {
  it("is forwarded unchanged, with the engine's response", async () => {
    const value = '{"n":12345678901234567890,"x":1.10}';
    const set = `{"function_id":"state::set","payload":{"scope":"invoke","key":"k","value":${value}}}`;
    expect((await served.ask("/_console/invoke", set)).status).toBe(200);
    const answer = await served.ask("/_console/invoke", {
      function_id: "state::get",
      payload: { scope: "invoke", key: "k" },
    });
    expect([answer.status, answer.body]).toEqual([200, value]);
    expect(answer.headers["x-svc-invocation-id"]).toMatch(/^[\da-f-]{36}$/);
    expect(answer.headers["x-svc-trace-id"]).toMatch(/^[\da-f]{32}$/);
    expect(answer.headers["x-frame-options"]).toBe("DENY");
  });

  it("forwards failures of the handler, of the id and of the body", async () => {
    const failed = await served.ask("/_console/invoke", { function_id: "probe::fail" });
    expect([failed.status, errorOf(failed).message]).toEqual([500, "on purpose"]);
    expect((await served.ask("/_console/invoke", { function_id: "nope::nope" })).status).toBe(404);
    expect((await served.ask("/_console/invoke", "{")).status).toBe(400);
    expect((await served.ask("/_console/invoke", {}, { headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect((await served.ask("/_console/invoke")).status).toBe(405);
  });

  it("forwards large payloads in both directions, and rejects those over the engine's limit", async () => {
    const text = "x".repeat(5 * 1024 * 1024);
    const answer = await served.ask("/_console/invoke", { function_id: "probe::echo", payload: text });
    expect([answer.status, answer.body.length]).toEqual([200, text.length + 2]);
    const over = await served.ask("/_console/invoke", {
      function_id: "probe::echo",
      payload: "x".repeat(16 * 1024 * 1024),
    });
    expect(over.status).toBe(413);
  });

  it("is cancelled if the page aborts it", async () => {
    const [started, aborted, gone] = [emitted("start"), emitted("abort"), new AbortController()];
    const answer = served.ask("/_console/invoke", { function_id: "probe::wait" }, { signal: gone.signal });
    await started;
    gone.abort();
    await expect(answer).rejects.toThrow("aborted");
    await aborted;
  });

  it("says which port does not answer while the engine is disconnected", async () => {
    const answer = await disconnected.ask("/_console/invoke", { function_id: "probe::echo" });
    expect([answer.status, errorOf(answer).code]).toEqual([503, "disconnected"]);
    expect(errorOf(answer).message).toBe("the engine's HTTP port http://127.0.0.1:1: nothing listens there");
  });
});

describe("the HTTP tester", () => {
  const send = (request: object) => served.ask("/api/http-request", { method: "GET", headers: [], ...request });
  const tested = async (request: object): Promise<HttpTestResult> => dataOf<HttpTestResult>(await send(request));

  it("sends to the engine's public port with its mark, and returns the complete response", async () => {
    const result = await tested({
      method: "POST",
      path: "/test/echo?q=1&q=2",
      headers: [
        ["content-type", "application/json"],
        ["X-Mine", "a"],
        ["x-mine", "b"],
      ],
      body: '{"n":1}',
    });
    expect(result).toMatchObject({ status: 201, status_text: "Created", truncated: false });
    expect(result.duration_ms).toBeGreaterThan(0);
    const body =
      "text" in result.body
        ? (JSON.parse(result.body.text) as { headers: Record<string, string>; method: string })
        : undefined;
    expect(body).toMatchObject({ method: "POST", headers: { "x-svc-console": "1", "x-mine": "a, b" } });
    expect(result.headers.filter(([name]) => name.toLowerCase() === "x-twice").map(([, value]) => value)).toEqual([
      "a",
      "b",
    ]);
  });

  it("does not follow redirects, and reaches no other host with any path", async () => {
    expect(await tested({ path: "/test/moved" })).toMatchObject({ status: 302 });
    expect(await tested({ path: "//evil.example/x" })).toMatchObject({ status: 404 });
    expect((await send({ path: "http://evil.example/" })).status).toBe(400);
    expect((await send({ path: "/a b\r\nHost: evil" })).status).toBe(400);
  });

  it("truncates bodies over 5 MiB between two characters", async () => {
    const result = await tested({ path: "/test/large" });
    expect(result.truncated).toBe(true);
    expect("text" in result.body && result.body.text.length).toBe(MAX_ANSWER_BYTES / 2);
    expect(result.bytes).toBeGreaterThan(MAX_ANSWER_BYTES);
  });

  it.each(["Host", "content-length", "Transfer-Encoding", "connection", "x-svc-console"])(
    "refuses the header %s",
    async (name) => {
      const answer = await send({ path: "/test/x", headers: [[name, "1"]] });
      expect([answer.status, errorOf(answer).code]).toEqual([400, "invalid_input"]);
    },
  );

  it("rejects invalid headers, unknown methods and invalid bodies", async () => {
    expect((await send({ path: "/x", headers: [["a b", "1"]] })).status).toBe(400);
    expect((await send({ path: "/x", headers: [["a", "1\r\nb: 2"]] })).status).toBe(400);
    expect((await send({ path: "/x", method: "TRACE" })).status).toBe(400);
    expect((await send({ path: "/x", body: 1 })).status).toBe(400);
  });

  it("ends at its timeout, and when the page aborts", async () => {
    const [aborted] = [emitted("abort")];
    const late = await send({ path: "/slow", timeout_ms: 200 });
    expect([late.status, errorOf(late)]).toMatchObject([
      504,
      { code: "call_timeout", message: "no complete response within 200 ms" },
    ]);
    await aborted;
    const [started, again, gone] = [emitted("start"), emitted("abort"), new AbortController()];
    const answer = served.ask(
      "/api/http-request",
      { method: "GET", path: "/slow", headers: [] },
      { signal: gone.signal },
    );
    await started;
    gone.abort();
    await expect(answer).rejects.toThrow("aborted");
    await again;
  });

  it("says which port does not answer while the engine is disconnected", async () => {
    const answer = await disconnected.ask("/api/http-request", { method: "GET", path: "/x", headers: [] });
    expect([answer.status, errorOf(answer).message]).toEqual([
      503,
      "the engine's HTTP port http://127.0.0.1:1: nothing listens there",
    ]);
  });
});

describe("an engine's HTTP port that behaves oddly", () => {
  it("returns binary data as base64, and reports aborted responses", async () => {
    const odd = createServer((request, response) => {
      if (request.url === "/bytes") response.end(Buffer.from([0xff, 0x00, 0xfe]));
      else if (request.url === "/healthz") response.end("<h1>Another program</h1>");
      else if (request.url === "/half")
        response.writeHead(200, { "content-length": "10" }).write("half", () => response.destroy());
      else request.socket.destroy();
    });
    await once(odd.listen(0, "127.0.0.1"), "listening");
    const target = await testConsole({ ...engine, httpUrl: `http://127.0.0.1:${(odd.address() as AddressInfo).port}` });
    const get = (path: string) => target.ask("/api/http-request", { method: "GET", path, headers: [] });
    expect(dataOf<HttpTestResult>(await get("/bytes"))).toMatchObject({ body: { base64: "/wD+" }, bytes: 3 });
    for (const path of ["/half", "/cut"]) {
      const answer = await get(path);
      expect([answer.status, errorOf(answer).code]).toEqual([503, "disconnected"]);
    }
    const invoked = await target.ask("/_console/invoke", { function_id: "probe::echo" });
    expect([invoked.status, errorOf(invoked).message]).toEqual([
      502,
      expect.stringContaining("the connection was cut"),
    ]);
    expect(dataOf<readonly Probe[]>(await target.ask("/api/probes", {}))[0]).toMatchObject({
      status: "refused",
      reason: "something responds there, but not like an engine",
    });
    await target.stop();
    odd.close();
  });
});

describe("the probes", () => {
  const found = async (target: TestConsole) => dataOf<readonly Probe[]>(await target.ask("/api/probes", {}));

  it("reach each port of the engine and measure the latency", async () => {
    const probes = await found(served);
    expect(probes.map(({ name, status, reason }) => [name, status, reason])).toEqual([
      ["engine_http", "ok", null],
      ["engine_realtime", "ok", null],
      ["engine_bridge", "ok", null],
      ["console", "ok", null],
    ]);
    for (const { latency_ms: latencyMs, checked_at_ms: checkedAtMs, last_ok_at_ms: lastOkMs } of probes) {
      expect(latencyMs).toBeGreaterThanOrEqual(0);
      expect(lastOkMs).toBe(checkedAtMs);
    }
    expect(dataOf<readonly Probe[]>(await served.ask("/api/probes"))).toHaveLength(4);
  });

  it("explain for each port why it is unreachable", async () => {
    const probes = await found(disconnected);
    expect(probes.map(({ status, reason, last_ok_at_ms: lastOkMs }) => [status, reason, lastOkMs === null])).toEqual([
      ["unreachable", "nothing listens there", true],
      ["unreachable", "nothing listens there", true],
      ["unreachable", "nothing listens there", true],
      ["ok", null, false],
    ]);
  });

  it("report a port where something else listens as refused", async () => {
    const wrong = await testConsole({ ...engine, streamsUrl: engine.httpUrl });
    await expect
      .poll(async () => (await found(wrong)).map(({ name, status }) => [name, status]))
      .toEqual([
        ["engine_http", "ok"],
        ["engine_realtime", "refused"],
        ["engine_bridge", "ok"],
        ["console", "ok"],
      ]);
    await wrong.stop();
  });
});
