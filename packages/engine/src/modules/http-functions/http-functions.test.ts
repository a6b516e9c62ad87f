import { createHmac } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { type Endpoint, endpoint, json, type Respond } from "../../outbound-http/testing/endpoint.ts";
import { type SelfSigned, selfSigned } from "../../outbound-http/testing/self-signed.ts";
import { manualClock } from "../../testing/index.ts";
import { type HttpFunctionEngine, httpFunctionEngine, RELAXED } from "./testing/http-function-engine.ts";

const started: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of started.splice(0).reverse()) await each.stop();
});

async function serverThat(respond: Respond, tls?: SelfSigned): Promise<Endpoint> {
  const server = await endpoint(respond, tls);
  started.push(server);
  return server;
}

async function engineWith(options: Parameters<typeof httpFunctionEngine>[0] = {}): Promise<HttpFunctionEngine> {
  const engine = await httpFunctionEngine(options);
  started.push(engine);
  return engine;
}

const errorOf = (frame: Record<string, unknown>): Record<string, unknown> => frame.error as Record<string, unknown>;
const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("a function reached over HTTP (gap 70)", () => {
  it("is called with the headers of the published wire and ours, and its JSON is the result", async () => {
    const server = await serverThat((_request, response) => json(response, { c: 5 }));
    const engine = await engineWith();
    await engine.register("math::add", { url: `http://127.0.0.1:${server.port}/add?x=1`, headers: { "X-Team": "a" } });
    const before = Math.floor(Date.now() / 1000);
    const answer = await engine.worker.call(
      "math::add",
      { a: 2, b: 3 },
      { traceparent: TRACEPARENT, baggage: "user=1" },
    );
    expect(answer.result).toEqual({ c: 5 });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "POST", url: "/add?x=1" });
    expect(JSON.parse(request?.body ?? "")).toEqual({ a: 2, b: 3 });
    const headers = request?.headers ?? {};
    expect(headers).toMatchObject({
      host: `127.0.0.1:${server.port}`,
      "content-type": "application/json",
      "content-length": String(request?.body.length),
      "x-iii-function-path": "math::add",
      "x-svc-function-path": "math::add",
      "x-svc-invocation-id": answer.invocation_id,
      "x-svc-attempt": "1",
      "x-team": "a",
      traceparent: TRACEPARENT,
      baggage: "user=1",
    });
    expect(headers["x-iii-invocation-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers["x-iii-invocation-id"]).not.toBe(answer.invocation_id);
    expect(headers["x-iii-timestamp"]).toBe(headers["x-svc-timestamp"]);
    expect(Number(headers["x-iii-timestamp"])).toBeGreaterThanOrEqual(before);
    expect(headers).not.toHaveProperty("x-iii-signature");
  });

  it.each(["GET", "POST", "PUT", "PATCH", "DELETE"])("is sent the payload with the method %s too", async (method) => {
    const server = await serverThat((request, response) => json(response, request.method));
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/`, method });
    expect(await engine.call("f", { n: 1 })).toBe(method);
    expect(server.requests[0]?.body).toBe('{"n":1}');
  });

  it("takes the frame that the published client sends", async () => {
    const server = await serverThat((_request, response) => json(response, "ok"));
    const engine = await engineWith({ env: { TOK: "t0p" } });
    const published = await engine.connectWorker({ features: [], runtime: "node" });
    published.send(
      `{"type":"registerfunction","id":"ext::b","invocation":{"url":"http://127.0.0.1:${server.port}/b","method":"POST","auth":{"type":"bearer","token_key":"TOK"}}}`,
    );
    expect((await published.call("ext::b", null)).result).toBe("ok");
    expect(server.requests[0]).toMatchObject({ body: "null", headers: { authorization: "Bearer t0p" } });
  });

  it("can be checked by its signature: HMAC-SHA256 over the timestamp and the body in base64", async () => {
    const server = await serverThat((request, response) => {
      // As a receiver would implement it from the documentation.
      const signed = `${request.headers["x-iii-timestamp"]}:${btoa(request.body)}`;
      const expected = `sha256=${createHmac("sha256", "s3cret").update(signed, "latin1").digest("hex")}`;
      json(response, [
        request.headers["x-iii-signature"] === expected,
        request.headers["x-svc-signature"] === expected,
      ]);
    });
    const engine = await engineWith({ env: { SIGNING: "s3cret" } });
    await engine.register("f", {
      url: `http://127.0.0.1:${server.port}/`,
      auth: { type: "hmac", secret_key: "SIGNING" },
    });
    expect(await engine.call("f", { text: "x?>" })).toEqual([true, true]);
  });

  it("gets an API key in the header of its choice, read anew at each call", async () => {
    const server = await serverThat((request, response) => json(response, request.headers["x-api-key"]));
    const env: Record<string, string | undefined> = { KEY: "first" };
    const engine = await engineWith({ env });
    await engine.register("f", {
      url: `http://127.0.0.1:${server.port}/`,
      auth: { type: "api_key", header: "X-Api-Key", value_key: "KEY" },
    });
    expect(await engine.call("f")).toBe("first");
    env.KEY = "second";
    expect(await engine.call("f")).toBe("second");
    env.KEY = undefined;
    await expect(engine.call("f")).rejects.toMatchObject({ code: "api_key_not_found" });
    expect(server.requests).toHaveLength(2);
  });

  it("is listed under the worker that registered it, counts for its limit, and goes with it", async () => {
    const server = await serverThat((_request, response) => json(response, 1));
    const engine = await engineWith({ engine: { limits: { maxFunctions: 1 } } });
    const url = `http://127.0.0.1:${server.port}/`;
    await engine.register("f", { url });
    expect(engine.directory.functionById("f")).toMatchObject({
      worker_name: "registrar",
      status: "available",
      workers: [{ id: engine.worker.id }],
    });
    expect(engine.directory.workerById(engine.worker.id)?.functions).toEqual(["f"]);
    expect(await engine.register("g", { url })).toMatchObject({
      code: "registration_refused",
      details: { message_type: "registerfunction", id: "g" },
    });
    engine.worker.close();
    await expect.poll(() => engine.directory.functionById("f")).toBeUndefined();
    await expect(engine.call("f")).rejects.toMatchObject({ code: "function_not_found" });
  });

  it("goes when it is unregistered, and is replaced when it is registered again", async () => {
    const server = await serverThat((request, response) => json(response, request.url));
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/one` });
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/two` });
    expect(await engine.call("f")).toBe("/two");
    engine.worker.serve("f", () => "in the worker");
    expect((await engine.worker.call("f")).result).toBe("in the worker");
    engine.worker.say({ type: "unregisterfunction", id: "f" });
    expect(errorOf(await engine.worker.call("f")).code).toBe("function_not_found");
  });

  it("shares its calls with other workers that provide the same id", async () => {
    const held: (() => void)[] = [];
    const server = await serverThat((_request, response) => held.push(() => json(response, "http")));
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/` });
    const first = engine.call("f");
    await server.next();
    const other = await engine.connectWorker();
    other.serve("f", () => "socket");
    // The least busy provider is chosen.
    await expect.poll(() => engine.directory.functionById("f")?.workers.length).toBe(2);
    expect(await engine.call("f")).toBe("socket");
    for (const release of held) release();
    expect(await first).toBe("http");
  });

  it("cannot take over an id of the engine", async () => {
    const engine = await engineWith();
    expect(await engine.register("engine::x", { url: "http://127.0.0.1:1/" })).toMatchObject({
      code: "registration_refused",
    });
  });

  it("is aborted when its caller withdraws the call", async () => {
    let closed = (): void => {};
    const aborted = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const server = await serverThat((_request, response) => response.on("close", closed));
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/` });
    const controller = new AbortController();
    const call = engine.call("f", 1, { signal: controller.signal });
    await server.next();
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "call_cancelled" });
    await aborted;
    expect(engine.directory.functionById("f")?.status).toBe("available");
  });

  it("is aborted at the call's deadline and at its own, whichever comes first", async () => {
    let open = 0;
    const server = await serverThat((_request, response) => {
      open++;
      response.on("close", () => open--);
    });
    const clock = manualClock();
    const engine = await engineWith({ engine: { clock } });
    const url = `http://127.0.0.1:${server.port}/`;
    await engine.register("patient", { url });
    const patient = engine.call("patient", 1, { timeoutMs: 60 });
    await server.next();
    clock.advance(1_000);
    await expect(patient).rejects.toMatchObject({ code: "call_timeout" });
    await engine.register("hasty", { url, timeout_ms: 60 });
    const hasty = engine.call("hasty", 1, { timeoutMs: 60_000 });
    await server.next();
    clock.advance(60);
    await expect(hasty).rejects.toMatchObject({
      code: "http_request_failed",
      message: "hasty: did not answer within 60 ms",
    });
    await expect.poll(() => open).toBe(0);
    expect(server.requests).toHaveLength(2);
  });

  it("fails with invocation_stopped when the engine stops", async () => {
    const server = await serverThat(() => {});
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/` });
    const call = engine.call("f");
    await server.next();
    const failure = expect(call).rejects.toMatchObject({ code: "invocation_stopped" });
    await engine.stop();
    await failure;
  });

  it("finishes its calls when the worker that registered it leaves", async () => {
    let answer = (): void => {};
    const server = await serverThat((_request, response) => {
      answer = () => json(response, "done");
    });
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/` });
    const call = engine.call("f");
    await server.next();
    engine.worker.close();
    await expect.poll(() => engine.directory.functionById("f")).toBeUndefined();
    answer();
    expect(await call).toBe("done");
  });

  it("uses a connection again for the same address", async () => {
    const server = await serverThat((_request, response) => json(response, 1));
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/` });
    for (let n = 0; n < 3; n++) await engine.call("f");
    expect(server.connections).toBe(1);
  });

  it("refuses more requests at once than it may have", async () => {
    const server = await serverThat(() => {});
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/` });
    const held = Array.from({ length: 256 }, () =>
      engine.call("f", null, { timeoutMs: 5_000 }).catch((error: Error) => error),
    );
    await expect(engine.call("f")).rejects.toMatchObject({ code: "overloaded" });
    await engine.stop();
    await Promise.all(held);
  });

  it("names ids in ASCII, and leaves out baggage that no header can carry", async () => {
    const server = await serverThat((request, response) =>
      json(response, [request.headers["x-svc-function-path"], request.headers.baggage ?? null]),
    );
    const engine = await engineWith();
    await engine.register("grüße::ünï", { url: `http://127.0.0.1:${server.port}/` });
    expect(await engine.call("grüße::ünï", 1, { baggage: "a=1\r\nx-evil: 1" })).toEqual([
      "gr%C3%BC%C3%9Fe::%C3%BCn%C3%AF",
      null,
    ]);
  });
});

describe("over HTTPS, a function", () => {
  const host = "api.example.test";
  const tls = selfSigned(host);
  const resolve = async (): Promise<{ address: string; family: number }[]> => [{ address: "127.0.0.1", family: 4 }];

  it("is reached at the resolved address under its own name", async () => {
    const server = await serverThat((request, response) => json(response, request.headers.host), tls);
    const engine = await engineWith({ trust: tls.cert, resolve, rules: () => ({ ...RELAXED, requireHttps: true }) });
    await engine.register("f", { url: `https://${host}:${server.port}/` });
    expect(await engine.call("f")).toBe(`${host}:${server.port}`);
  });

  it.each([
    ["vouches for another name", "other.example.test", tls.cert],
    ["nobody trusts", host, selfSigned(host).cert],
  ])("whose certificate %s is not told the request, and is not tried again", async (_what, name, trust) => {
    const server = await serverThat((_request, response) => json(response, 1), tls);
    const engine = await engineWith({ trust, resolve });
    await engine.register("f", { url: `https://${name}:${server.port}/` });
    await expect(engine.call("f", "secret")).rejects.toMatchObject({
      code: "http_request_failed",
      details: { executed: "no" },
    });
    expect(server.requests).toHaveLength(0);
    expect(server.connections).toBe(1);
  });
});
