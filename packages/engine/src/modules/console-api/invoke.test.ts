import { afterEach, describe, expect, it } from "vitest";
import { type InMemoryEngine, inMemoryEngine } from "../../testing/index.ts";
import { consoleApi } from "./index.ts";

let running: InMemoryEngine | undefined;
afterEach(async () => running?.stop());

async function start(enabled = true) {
  const engine = await inMemoryEngine({
    modules: [
      consoleApi(() => ({
        enabled,
        originIsAllowed: (origin) => origin === undefined || origin === "http://ok.example",
        fetchSiteIsSafe: ({ headers }) => headers["sec-fetch-site"] !== "cross-site",
      })),
    ],
  });
  running = engine;
  const worker = await engine.connectWorker();
  worker.serve("math::add", (data) => ({ c: (data as { a: number }).a + (data as { b: number }).b }));
  worker.serve("fails", () => {
    throw new Error("boom");
  });
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
  const url = `${await engine.http()}/_console/invoke`;
  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { engine, worker, url, post };
}

describe("POST /_console/invoke", () => {
  it.each(["payload", "input", "data"])(
    "calls the function with `%s` and answers its JSON with the ids of the call",
    async (name) => {
      const { post } = await start();
      const response = await post({ function_id: "math::add", [name]: { a: 2, b: 3 } });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ c: 5 });
      expect(response.headers.get("x-svc-invocation-id")).toMatch(/^[0-9a-f-]{36}$/);
      expect(response.headers.get("x-svc-trace-id")).toMatch(/^[0-9a-f]{32}$/);
    },
  );

  it.each([
    ["a function that is not there", { function_id: "nope" }, 404, "function_not_found"],
    ["a handler that fails", { function_id: "fails" }, 500, "invocation_failed"],
    ["a missing function id", { payload: 1 }, 400, "invalid_input"],
    ["an unknown key", { function_id: "math::add", payloud: 1 }, 400, "invalid_input"],
    ["a deadline of nothing", { function_id: "math::add", timeout_ms: 0 }, 400, "invalid_input"],
    ["a body that is not JSON", "{oops", 400, "invalid_json"],
    [
      "a payload that nests too deep",
      `{"function_id":"math::add","payload":${"[".repeat(137)}${"]".repeat(137)}}`,
      400,
      "invalid_json",
    ],
    ["a queue that is not there", { function_id: "math::add", mode: "enqueue" }, 503, "enqueue_error"],
  ])("answers %s with a fitting status", async (_what, body, status, code) => {
    const { post } = await start();
    const response = await post(body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code, message: expect.stringMatching(/./) } });
  });

  it("passes numbers on with all their digits", async () => {
    const { post, worker } = await start();
    worker.say({ type: "registerfunction", id: "echo" });
    const answer = post('{"function_id":"echo","payload":{"big":12345678901234567890,"one":1.0}}');
    await expect.poll(() => worker.received.join()).toContain('{"big":12345678901234567890,"one":1.0}');
    worker.close();
    expect((await answer).status).toBe(503);
  });

  it("answers 202 for a void call, however it ends", async () => {
    const { post } = await start();
    expect((await post({ function_id: "fails", mode: "void" })).status).toBe(202);
  });

  it("answers 504 when the deadline passes, and 503 with Retry-After when the worker goes", async () => {
    const { post, engine } = await start();
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "slow" });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    expect((await post({ function_id: "slow", timeout_ms: 1 })).status).toBe(504);
    const answer = post({ function_id: "slow" });
    await worker.next((frame) => frame.type === "invokefunction");
    await worker.next((frame) => frame.type === "invokefunction");
    worker.close();
    const response = await answer;
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  });

  it("cancels the call when the request is closed", async () => {
    const { url, engine } = await start();
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "slow" });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    const controller = new AbortController();
    const answer = fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"function_id":"slow"}',
      signal: controller.signal,
    }).catch(() => "aborted");
    await worker.next((frame) => frame.type === "invokefunction");
    controller.abort();
    expect(await answer).toBe("aborted");
    await worker.next((frame) => frame.type === "cancelinvocation");
  });

  it.each([
    ["another method", { method: "GET" }, 405],
    [
      "plain text, which a page may send unasked",
      { method: "POST", headers: { "content-type": "text/plain" }, body: '{"function_id":"math::add"}' },
      415,
    ],
    ["a form", { method: "POST", body: new URLSearchParams({ function_id: "math::add" }) }, 415],
    [
      "a foreign origin",
      { method: "POST", headers: { "content-type": "application/json", origin: "http://evil.example" }, body: "{}" },
      403,
    ],
    [
      "a page of another site",
      { method: "POST", headers: { "content-type": "application/json", "sec-fetch-site": "cross-site" }, body: "{}" },
      403,
    ],
  ])("refuses %s", async (_what, init, status) => {
    const { url } = await start();
    expect((await fetch(url, init as RequestInit)).status).toBe(status);
  });

  it("takes parameters of the content type, and an allowed origin", async () => {
    const { post } = await start();
    const response = await post(
      { function_id: "math::add", payload: { a: 1, b: 1 } },
      { "content-type": "application/json; charset=utf-8", origin: "http://ok.example" },
    );
    expect(response.status).toBe(200);
  });

  it("says that the function ran if its answer is not JSON", async () => {
    const { worker, post } = await start();
    worker.say({ type: "registerfunction", id: "torn" });
    const answer = post({ function_id: "torn" });
    const { invocation_id } = await worker.next((frame) => frame.type === "invokefunction");
    worker.send(
      `{"type":"invocationresult","invocation_id":"${invocation_id}","function_id":"torn","result":{"a":tru}}`,
    );
    expect(await (await answer).json()).toMatchObject({
      error: { code: "invalid_message", details: { executed: "yes" } },
    });
  });

  it("is not there when it is switched off", async () => {
    const { post } = await start(false);
    expect((await post({ function_id: "math::add" })).status).toBe(404);
  });
});
