import { createServer } from "node:http";
import { freePort } from "@svc-runtime/protocol/testing";
import { afterEach, describe, expect, it } from "vitest";
import { type Endpoint, endpoint, json, type Respond } from "../../outbound-http/testing/endpoint.ts";
import { manualClock } from "../../testing/index.ts";
import { type HttpFunctionEngine, httpFunctionEngine, RELAXED } from "./testing/http-function-engine.ts";

const started: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of started.splice(0).reverse()) await each.stop();
});

async function serverThat(respond: Respond): Promise<Endpoint> {
  const server = await endpoint(respond);
  started.push(server);
  return server;
}

async function engineWith(options: Parameters<typeof httpFunctionEngine>[0] = {}): Promise<HttpFunctionEngine> {
  const engine = await httpFunctionEngine(options);
  started.push(engine);
  return engine;
}

const local = [{ address: "127.0.0.1", family: 4 }];

describe("a request to a function reached over HTTP", () => {
  it("that could connect to nobody is tried twice more, and says that nothing was executed (gap 70)", async () => {
    let questions = 0;
    const resolve = async (): Promise<typeof local> => {
      questions++;
      return local;
    };
    const engine = await engineWith({ resolve });
    await engine.register("f", { url: `http://api.example:${await freePort()}/` });
    await expect(engine.call("f")).rejects.toMatchObject({
      code: "http_request_failed",
      message: "f: could not connect to api.example: ECONNREFUSED",
      details: { executed: "no" },
    });
    expect(questions).toBe(3);
  });

  it("whose name is not resolved is tried twice more", async () => {
    let questions = 0;
    const resolve = (): Promise<never> => {
      questions++;
      return Promise.reject(Object.assign(new Error("not found"), { code: "ENOTFOUND" }));
    };
    const engine = await engineWith({ resolve });
    await engine.register("f", { url: "http://api.example/" });
    await expect(engine.call("f")).rejects.toMatchObject({
      code: "url_validation_failed",
      message: "DNS lookup failed: api.example: ENOTFOUND",
    });
    expect(questions).toBe(3);
  });

  it("succeeds when the endpoint comes up in between", async () => {
    const port = await freePort();
    const late = createServer((_request, response) => json(response, "up"));
    started.push({ stop: () => new Promise((resolve) => late.close(() => resolve())) });
    let questions = 0;
    const resolve = async (): Promise<typeof local> => {
      if (++questions === 2) await new Promise<void>((up) => late.listen(port, "127.0.0.1", up));
      return local;
    };
    const engine = await engineWith({ resolve });
    await engine.register("f", { url: `http://api.example:${port}/` });
    expect(await engine.call("f")).toBe("up");
    expect(questions).toBe(2);
  });

  it("goes to the next address of the same answer when the first refuses", async () => {
    const server = await serverThat((_request, response) => json(response, 1));
    const engine = await engineWith({ resolve: async () => [{ address: "::1", family: 6 }, ...local] });
    await engine.register("f", { url: `http://api.example:${server.port}/`, retry: { attempts: 1 } });
    expect(await engine.call("f")).toBe(1);
  });

  it("is tried as often as the settings say, and as the registration says before them", async () => {
    let questions = 0;
    const resolve = async (): Promise<typeof local> => {
      questions++;
      return local;
    };
    const engine = await engineWith({ resolve, rules: () => ({ ...RELAXED, retries: 0 }) });
    const url = `http://api.example:${await freePort()}/`;
    await engine.register("once", { url });
    await expect(engine.call("once")).rejects.toMatchObject({ code: "http_request_failed" });
    expect(questions).toBe(1);
    await engine.register("twice", { url, retry: { attempts: 2 } });
    await expect(engine.call("twice")).rejects.toMatchObject({ code: "http_request_failed" });
    expect(questions).toBe(3);
  });

  it("that was sent is not sent again when the connection breaks: it may have run", async () => {
    const server = await serverThat((_request, response) => response.destroy());
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/` });
    const error = await engine.call("f").catch((thrown: { code: string; details?: object }) => thrown);
    expect(error).toMatchObject({ code: "http_request_failed" });
    expect(error).not.toMatchObject({ details: { executed: "no" } });
    expect(server.requests).toHaveLength(1);
  });

  it("that was answered with a failure is not sent again unless the registration asks for it", async () => {
    const server = await serverThat((_request, response) => json(response, {}, 503));
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/` });
    await expect(engine.call("f")).rejects.toMatchObject({
      code: "http_error",
      message: "HTTP 503 Service Unavailable",
    });
    expect(server.requests).toHaveLength(1);
  });

  it("is sent again after the statuses that its registration names, under the same ids", async () => {
    const server = await serverThat((request, response) => {
      if (request.headers["x-svc-attempt"] === "3") json(response, "third");
      else json(response, {}, 503);
    });
    const engine = await engineWith();
    await engine.register("f", {
      url: `http://127.0.0.1:${server.port}/`,
      retry: { attempts: 3, statuses: [502, 503], idempotent: true },
    });
    expect(await engine.call("f")).toBe("third");
    expect(new Set(server.requests.map(({ headers }) => headers["x-iii-invocation-id"])).size).toBe(1);
    expect(new Set(server.requests.map(({ headers }) => headers["x-svc-invocation-id"])).size).toBe(1);
  });

  it("gives the last failure when its attempts are used up, and at once for other statuses", async () => {
    const server = await serverThat((request, response) =>
      json(response, { error: { code: "e", message: "m" } }, request.body === "1" ? 503 : 500),
    );
    const engine = await engineWith();
    await engine.register("f", {
      url: `http://127.0.0.1:${server.port}/`,
      retry: { attempts: 2, statuses: [503], idempotent: true },
    });
    await expect(engine.call("f", 1)).rejects.toMatchObject({ code: "e", message: "m", details: { status: 503 } });
    expect(server.requests).toHaveLength(2);
    await expect(engine.call("f", 2)).rejects.toMatchObject({ details: { status: 500 } });
    expect(server.requests).toHaveLength(3);
  });

  it("that may run twice is sent again when the connection breaks", async () => {
    const server = await serverThat((request, response) => {
      if (request.headers["x-svc-attempt"] === "1") response.destroy();
      else json(response, "second");
    });
    const engine = await engineWith();
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/`, retry: { idempotent: true } });
    expect(await engine.call("f")).toBe("second");
  });

  it("is not tried again when the pause would end after the deadline: the failure in hand says more", async () => {
    const engine = await engineWith({ random: () => 1, engine: { clock: manualClock() } });
    await engine.register("f", { url: `http://127.0.0.1:${await freePort()}/`, timeout_ms: 150 });
    await expect(engine.call("f")).rejects.toMatchObject({ message: expect.stringContaining("ECONNREFUSED") });
  });

  it("that waits for its next attempt ends at once when the caller withdraws the call", async () => {
    const server = await serverThat((_request, response) => json(response, {}, 503));
    const engine = await engineWith({ random: () => 1 });
    await engine.register("f", {
      url: `http://127.0.0.1:${server.port}/`,
      retry: { attempts: 10, statuses: [503], idempotent: true },
    });
    const controller = new AbortController();
    const call = engine.call("f", 1, { signal: controller.signal });
    await server.next();
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "call_cancelled" });
    // Any further request would reach this server before this other call's.
    await engine.register("g", { url: `http://127.0.0.1:${server.port}/` });
    await expect(engine.call("g")).rejects.toMatchObject({ code: "http_error" });
    expect(server.requests).toHaveLength(2);
  });
});
