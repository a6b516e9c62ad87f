import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type Endpoint, endpoint, json, type Respond } from "../../outbound-http/testing/endpoint.ts";
import { manualClock } from "../../testing/index.ts";
import { type HttpFunctionEngine, httpFunctionEngine, RELAXED, STRICT } from "./testing/http-function-engine.ts";

const started: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of started.splice(0).reverse()) await each.stop();
});

async function serverThat(respond: Respond): Promise<Endpoint> {
  const server = await endpoint(respond);
  started.push(server);
  return server;
}

/** A server that sends any bytes, HTTP or not. */
async function rawServer(onRequest: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => onRequest(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  started.push({
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
  return (server.address() as AddressInfo).port;
}

async function engineWith(options: Parameters<typeof httpFunctionEngine>[0] = {}): Promise<HttpFunctionEngine> {
  const engine = await httpFunctionEngine(options);
  started.push(engine);
  return engine;
}

async function functionAt(port: number): Promise<HttpFunctionEngine> {
  const engine = await engineWith();
  expect(await engine.register("f", { url: `http://127.0.0.1:${port}/` })).toBeUndefined();
  return engine;
}

describe("the address of a function reached over HTTP", () => {
  it.each([
    "127.0.0.1",
    "169.254.169.254",
    "10.0.0.1",
    "100.64.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "fd00::1",
    "fe80::1%eth0",
    "64:ff9b::7f00:1",
  ])("is refused when its name resolves to %s (K12)", async (address) => {
    const engine = await engineWith({
      rules: () => STRICT,
      resolve: async () => [{ address, family: address.includes(":") ? 6 : 4 }],
    });
    await engine.register("f", { url: "https://api.example/" });
    await expect(engine.call("f")).rejects.toMatchObject({
      code: "url_validation_failed",
      message: expect.stringMatching(/^Private IP blocked/),
    });
  });

  it("is refused when only one of several addresses is not public (K12)", async () => {
    const engine = await engineWith({
      rules: () => STRICT,
      resolve: async () => [
        { address: "1.1.1.1", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ],
    });
    await engine.register("f", { url: "https://api.example/" });
    await expect(engine.call("f")).rejects.toMatchObject({ code: "url_validation_failed" });
  });

  it("is resolved once for an attempt, and the connection goes to what was checked (K12)", async () => {
    const good = await serverThat((_request, response) => json(response, "good"));
    let questions = 0;
    // Every second lookup returns another address: a second lookup after the check would use the wrong one.
    const resolve = async (): Promise<{ address: string; family: number }[]> => [
      questions++ % 2 === 0 ? { address: "127.0.0.1", family: 4 } : { address: "::1", family: 6 },
    ];
    const engine = await engineWith({ resolve });
    await engine.register("f", { url: `http://flip.example:${good.port}/`, retry: { attempts: 1 } });
    expect(await engine.call("f")).toBe("good");
    expect(questions).toBe(1);
    // The next call resolves the name again and uses its result, where nothing listens, although a connection to the
    // other address is open.
    await expect(engine.call("f")).rejects.toMatchObject({ code: "http_request_failed", details: { executed: "no" } });
    expect(questions).toBe(2);
  });

  it("is judged by the rules of the moment, at each call", async () => {
    const server = await serverThat((_request, response) => json(response, 1));
    let rules = RELAXED;
    const engine = await engineWith({ rules: () => rules });
    await engine.register("f", { url: `http://127.0.0.1:${server.port}/` });
    expect(await engine.call("f")).toBe(1);
    rules = STRICT;
    await expect(engine.call("f")).rejects.toMatchObject({
      code: "url_validation_failed",
      message: expect.stringMatching(/^HTTPS is required/),
    });
    expect(server.requests).toHaveLength(1);
  });

  it("that cannot be resolved fails the call before its deadline, even when the resolver hangs", async () => {
    const clock = manualClock();
    let sayAsked = (): void => {};
    const asked = new Promise<void>((resolve) => {
      sayAsked = resolve;
    });
    const engine = await engineWith({ resolve: () => new Promise(() => sayAsked()), engine: { clock } });
    await engine.register("f", { url: "http://api.example/", timeout_ms: 50 });
    const call = engine.call("f");
    await asked;
    clock.advance(50);
    await expect(call).rejects.toMatchObject({ code: "http_request_failed" });
  });
});

describe("a hostile or broken endpoint", () => {
  it("cannot send the request elsewhere: redirects are not followed (K12)", async () => {
    const inner = await serverThat((_request, response) => json(response, "secret"));
    const outer = await serverThat((request, response) => {
      const location = `http://127.0.0.1:${inner.port}/`;
      if (request.url === "/json")
        response.writeHead(307, { location, "content-type": "application/json" }).end('{"moved":true}');
      else response.writeHead(302, { location }).end();
    });
    const engine = await engineWith();
    await engine.register("empty", { url: `http://127.0.0.1:${outer.port}/` });
    await engine.register("json", { url: `http://127.0.0.1:${outer.port}/json` });
    expect(await engine.call("empty")).toBeNull();
    expect(await engine.call("json")).toEqual({ moved: true });
    expect(inner.requests).toHaveLength(0);
  });

  it("cannot hold a call beyond its deadline by dripping its answer", async () => {
    let drips = 0;
    const port = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
      const timer = setInterval(() => {
        drips++;
        socket.write(" ");
      }, 10);
      socket.on("close", () => clearInterval(timer));
    });
    const clock = manualClock();
    const engine = await engineWith({ engine: { clock } });
    await engine.register("f", { url: `http://127.0.0.1:${port}/`, timeout_ms: 150 });
    const call = engine.call("f");
    await expect.poll(() => drips).toBeGreaterThan(0);
    clock.advance(150);
    await expect(call).rejects.toMatchObject({
      code: "http_request_failed",
      message: expect.stringContaining("150 ms"),
    });
  });

  it("cannot fill the memory with an endless body, announced or not", async () => {
    let written = 0;
    const server = await serverThat((request, response) => {
      if (request.body === '"announced"') {
        response.writeHead(200, { "content-length": String(17 * 1024 * 1024) }).flushHeaders();
        return;
      }
      response.writeHead(200);
      const chunk = Buffer.alloc(256 * 1024, 32);
      const more = (): void => {
        while (!response.destroyed) {
          written += chunk.byteLength;
          if (!response.write(chunk)) {
            response.once("drain", more);
            return;
          }
        }
      };
      more();
    });
    const engine = await functionAt(server.port);
    const failure = { code: "http_response_failed", message: expect.stringContaining("larger than 16777216 bytes") };
    await expect(engine.call("f", "announced")).rejects.toMatchObject(failure);
    await expect(engine.call("f", "endless")).rejects.toMatchObject(failure);
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it("may answer with as much as fits", async () => {
    const text = "x".repeat(15 * 1024 * 1024);
    const server = await serverThat((_request, response) => json(response, text));
    const engine = await functionAt(server.port);
    expect(await engine.call("f")).toBe(text);
  });

  it.each([
    [
      "headers without end",
      `HTTP/1.1 200 OK\r\n${"x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(2_000)}\r\n`,
      "http_response_failed",
    ],
    ["something that is not HTTP", "SSH-2.0-OpenSSH_9.9\r\n", "http_response_failed"],
    ["a body that breaks off", 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"a":', "http_response_failed"],
    ["a chunk that is none", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "http_response_failed"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n11", "http_response_failed"],
    ["nothing at all", "", "http_request_failed"],
    [
      "another protocol",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
      "http_request_failed",
    ],
    ["HTML", "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>", "invalid_response"],
    [
      "a nest of 50,000 brackets",
      `HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n${"[".repeat(50_000)}${"]".repeat(50_000)}`,
      "invalid_response",
    ],
    [
      "packed bytes that nobody asked for",
      "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n\u001f\u008b",
      "invalid_response",
    ],
  ])("that answers with %s costs its caller this call and nothing else", async (_what, answer, code) => {
    const port = await rawServer((socket) => socket.end(Buffer.from(answer, "latin1")));
    const engine = await functionAt(port);
    await expect(engine.call("f")).rejects.toMatchObject({ code });
    expect(engine.kernel.router.counts.inFlight).toBe(0);
    expect(engine.logs.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("cannot answer the next request ahead of time", async () => {
    const port = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n666");
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n2"));
    });
    const engine = await functionAt(port);
    expect(await engine.call("f")).toBe(1);
    expect(await engine.call("f").catch((error: { code: string }) => error.code)).not.toBe(666);
  });

  it("does not see secrets in the log when it fails", async () => {
    const port = await rawServer((socket) => socket.destroy());
    const engine = await engineWith({ env: { TOKEN: "very-secret" } });
    await engine.register("f", {
      url: `http://127.0.0.1:${port}/?key=also-secret`,
      auth: { type: "bearer", token_key: "TOKEN" },
    });
    const error = await engine.call("f").catch((thrown: Error) => thrown);
    expect(JSON.stringify([engine.logs, error, (error as Error).message])).not.toMatch(/very-secret|also-secret/);
  });
});
