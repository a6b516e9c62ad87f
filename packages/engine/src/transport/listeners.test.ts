import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { engineBlockSchema } from "../config/engine-settings.ts";
import { createKernel } from "../create-kernel.ts";
import { systemClock } from "../kernel/clock.ts";
import type { ComponentReport } from "../kernel/health-contract.ts";
import { silentLogger } from "../kernel/logger.ts";
import { Bridge } from "./bridge.ts";
import { hostIsOurs, originIsAllowed } from "./guards.ts";
import { HttpApi } from "./http-api.ts";
import { ListenError } from "./listener.ts";
import { Realtime } from "./realtime.ts";

const LOOPBACK = { host: "127.0.0.1", port: 0 };
const rules = { allowedOrigins: ["http://app.example"], allowedHosts: ["dev.example", "localhost:8080"] };
const undo: (() => void)[] = [];
afterEach(() => {
  for (const close of undo.splice(0).reverse()) close();
});

async function bridge() {
  const kernel = createKernel({
    clock: systemClock,
    log: silentLogger,
    version: "0",
    deadlines: { defaultTimeoutMs: 30_000, legacyCallTimeoutMs: 900_000 },
  });
  const made = new Bridge(kernel, () => rules);
  made.startServing();
  await made.listener.bind(LOOPBACK);
  undo.push(() => made.listener.close());
  return { kernel, made, port: made.listener.port };
}

/** Returns the status of a refused upgrade, or the open socket. */
async function upgrade(
  url: string,
  headers: Record<string, string> = {},
): Promise<WebSocket | { status: number | undefined; body: string }> {
  const socket = new WebSocket(url, { headers, handshakeTimeout: 5_000 });
  undo.push(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve(socket));
    socket.once("error", reject);
    socket.once("unexpected-response", (_request, response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on("end", () => resolve({ status: response.statusCode, body }));
    });
  });
}

async function get(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number | undefined; body: string }> {
  const sent = httpRequest({ host: "127.0.0.1", port, path, headers });
  sent.end();
  const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
  let body = "";
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, body };
}

/**
 * Sends raw bytes. `answered` resolves with the first piece of the response, `closed` with all of it when the
 * connection has ended.
 */
function sendRaw(port: number, text: string): { socket: Socket; answered: Promise<unknown>; closed: Promise<string> } {
  const socket = connect({ port, host: "127.0.0.1" });
  undo.push(() => socket.destroy());
  let received = "";
  socket.on("data", (bytes: Buffer) => {
    received += bytes.toString("latin1");
  });
  socket.on("error", () => {});
  socket.write(text);
  return { socket, answered: once(socket, "data"), closed: once(socket, "close").then(() => received) };
}

describe("the guard of the listeners", () => {
  it.each([
    ["localhost:80", true],
    ["LOCALHOST:80", true],
    ["app.localhost:80", true],
    ["127.0.0.1:80", true],
    ["[::1]:80", true],
    ["dev.example:80", true],
    // A proxy in front uses the scheme's default port, or another.
    ["dev.example", true],
    ["dev.example:8443", true],
    // A tunnel from another port of the browser's machine.
    ["localhost:8080", true],
    ["LOCALHOST:8080", true],
    ["127.0.0.1:8080", false],
    ["localhost", true],
    ["localhost:81", false],
    ["0.0.0.0:80", false],
    ["evil.example:80", false],
    ["localhost.evil.example:80", false],
    ["localhost:80@evil.example", false],
    ["", false],
    [undefined, false],
  ])("takes the Host %s: %s", (host, expected) => {
    expect(hostIsOurs(host, 80, rules)).toBe(expected);
  });

  it.each([
    [undefined, true],
    ["http://app.example", true],
    ["null", false],
    ["http://localhost:3000", false],
    ["https://app.example", false],
  ])("takes the Origin %s: %s", (origin, expected) => {
    expect(originIsAllowed(origin, rules)).toBe(expected);
  });
});

describe("the bridge", () => {
  it("greets a worker at / and takes telemetry at /otel, in both loopback families", async () => {
    const { port } = await bridge();
    for (const host of ["127.0.0.1", "[::1]"]) {
      const socket = new WebSocket(`ws://${host}:${port}/?any=query`);
      undo.push(() => socket.terminate());
      const [first] = (await once(socket, "message")) as [Buffer];
      expect(JSON.parse(first.toString())).toMatchObject({ type: "workerregistered" });
    }
    expect(await upgrade(`ws://127.0.0.1:${port}/otel`)).toBeInstanceOf(WebSocket);
  });

  it("refuses other paths with 404, foreign pages with 403 and foreign names with 421 (W1, W2, W5)", async () => {
    const { port } = await bridge();
    const url = `ws://127.0.0.1:${port}`;
    expect(await upgrade(`${url}/nope`)).toMatchObject({ status: 404 });
    expect(await upgrade(`${url}/`, { origin: "http://evil.example" })).toMatchObject({
      status: 403,
      body: expect.stringContaining("allowed_origins"),
    });
    expect(await upgrade(`${url}/`, { origin: "null" })).toMatchObject({ status: 403 });
    expect(await upgrade(`${url}/otel`, { origin: "http://evil.example" })).toMatchObject({ status: 403 });
    expect(await upgrade(`${url}/`, { host: `evil.example:${port}` })).toMatchObject({
      status: 421,
      body: expect.stringContaining("allowed_hosts"),
    });
    expect(await upgrade(`${url}/`, { origin: "http://app.example" })).toBeInstanceOf(WebSocket);
  });

  it("closes with 1009 on a frame over 16 MiB and goes on serving others (gap 58)", async () => {
    const { port } = await bridge();
    const socket = (await upgrade(`ws://127.0.0.1:${port}/`)) as WebSocket;
    const closed = once(socket, "close");
    socket.on("error", () => {});
    socket.send("x".repeat(16 * 1024 * 1024 + 1));
    expect((await closed)[0]).toBe(1009);
    expect(await upgrade(`ws://127.0.0.1:${port}/`)).toBeInstanceOf(WebSocket);
  });

  it("hangs up without a close code when the engine stops, after what was queued", async () => {
    const { port, made, kernel } = await bridge();
    const socket = (await upgrade(`ws://127.0.0.1:${port}/`)) as WebSocket;
    const frames: string[] = [];
    socket.on("message", (data) => frames.push(String(data)));
    const closed = once(socket, "close");
    kernel.sessions.all()[0]?.send({ type: "pong" });
    made.dropAll();
    expect((await closed)[0]).toBe(1006);
    expect(frames.map((frame) => (JSON.parse(frame) as { type: string }).type)).toContain("pong");
  });

  it("tells plain HTTP clients what this port is", async () => {
    const { port } = await bridge();
    expect(await get(port, "/", { host: `localhost:${port}` })).toMatchObject({
      status: 426,
      body: expect.stringContaining("WebSocket"),
    });
  });
});

describe("the HTTP listener", () => {
  async function api() {
    const made = new HttpApi(silentLogger, () => rules);
    made.startServing();
    await made.listener.bind(LOOPBACK);
    undo.push(() => made.listener.close());
    return { made, port: made.listener.port };
  }

  it("answers health, and readiness with its reasons", async () => {
    const { made, port } = await api();
    const host = { host: `localhost:${port}` };
    expect(await get(port, "/healthz", host)).toEqual({ status: 200, body: '{"status":"ok"}' });
    expect(await get(port, "/readyz", host)).toMatchObject({ status: 200 });
    const takeBack = made.reportReadiness(() => "the store is closed");
    expect(await get(port, "/readyz", host)).toEqual({
      status: 503,
      body: '{"status":"not_ready","reasons":["the store is closed"]}',
    });
    takeBack();
    made.startDraining();
    expect(await get(port, "/readyz", host)).toMatchObject({ status: 503 });
  });

  it("answers 503 with Retry-After until the modules are open, and says that it starts", async () => {
    const made = new HttpApi(silentLogger, () => rules);
    made.mount({ prefix: "/", handle: (_request, response) => void response.end("root") });
    await made.listener.bind(LOOPBACK);
    undo.push(() => made.listener.close());
    const host = { host: `localhost:${made.listener.port}` };
    const ask = (path: string) => get(made.listener.port, path, host);
    expect(await ask("/healthz")).toMatchObject({ status: 200 });
    expect(await ask("/readyz")).toMatchObject({ status: 503, body: expect.stringContaining("starting") });
    expect(await ask("/orders")).toMatchObject({
      status: 503,
      body: expect.stringContaining("the engine is starting"),
    });
    made.startServing();
    expect(await ask("/readyz")).toMatchObject({ status: 200 });
    expect(await ask("/orders")).toMatchObject({ status: 200, body: "root" });
  });

  it("is ready while a component is degraded, not while one is unhealthy, and names it; since when and what to do it tells the token's holder (gap 48)", async () => {
    let reports: readonly ComponentReport[] = [
      { component: "disk", status: "healthy", details: "5 GB free", sinceMs: 1 },
    ];
    const made = new HttpApi(silentLogger, () => rules, {
      health: () => reports,
      isTrusted: ({ headers }) => headers.authorization === "Bearer t",
    });
    made.startServing();
    await made.listener.bind(LOOPBACK);
    undo.push(() => made.listener.close());
    const { port } = made.listener;
    const ready = async (headers: Readonly<Record<string, string>> = {}) => {
      const { status, body } = await get(port, "/readyz", { host: `localhost:${port}`, ...headers });
      return { status, body: JSON.parse(body) as unknown };
    };
    expect(await ready()).toEqual({ status: 200, body: { status: "ready" } });
    reports = [{ component: "disk", status: "degraded", details: "little room: make some", sinceMs: 2 }];
    const disk = { component: "disk", status: "degraded" };
    expect(await ready()).toEqual({ status: 200, body: { status: "ready", components: [disk] } });
    reports = [
      ...reports,
      { component: "store", status: "unhealthy", details: "/home/ann/data is read-only", sinceMs: 3 },
    ];
    const store = { component: "store", status: "unhealthy" };
    expect(await ready()).toEqual({
      status: 503,
      body: { status: "not_ready", reasons: ["store: unhealthy"], components: [disk, store] },
    });
    expect(await ready({ authorization: "Bearer t" })).toEqual({
      status: 503,
      body: {
        status: "not_ready",
        reasons: ["store: /home/ann/data is read-only"],
        components: [
          { ...disk, details: "little room: make some", since_ms: 2 },
          { ...store, details: "/home/ann/data is read-only", since_ms: 3 },
        ],
      },
    });
    expect(await get(port, "/healthz", { host: `localhost:${port}` })).toMatchObject({ status: 200 });
  });

  it("gives a request to the mount with the longest prefix, and 404 to the rest with a hint", async () => {
    const { made, port } = await api();
    const host = { host: `localhost:${port}` };
    expect(await get(port, "/a", host)).toMatchObject({
      status: 404,
      body: expect.stringContaining("svc worker add svc-http"),
    });
    made.mount({ prefix: "/", handle: (_request, response) => void response.end("root") });
    const takeBack = made.mount({ prefix: "/api/", handle: (_request, response, path) => void response.end(path) });
    made.mount({ prefix: "/broken", handle: () => Promise.reject(new Error("boom")) });
    expect(await get(port, "/api/x?y=1", host)).toMatchObject({ body: "/api/x" });
    expect(await get(port, "/other", host)).toMatchObject({ body: "root" });
    expect(await get(port, "/broken", host)).toMatchObject({ status: 500 });
    takeBack();
    expect(await get(port, "/api/x", host)).toMatchObject({ body: "root" });
  });

  it("answers a client that offers another protocol in HTTP/1.1", async () => {
    const { port } = await api();
    expect(
      await get(port, "/healthz", {
        host: `localhost:${port}`,
        connection: "Upgrade, HTTP2-Settings",
        upgrade: "h2c",
        "http2-settings": "AAMAAABk",
      }),
    ).toMatchObject({ status: 200 });
  });

  it("answers new requests with 503 while it drains", async () => {
    const { made, port } = await api();
    made.mount({ prefix: "/", handle: (_request, response) => void response.end("root") });
    made.startDraining();
    expect(await get(port, "/", { host: `localhost:${port}` })).toMatchObject({
      status: 503,
      body: expect.stringContaining("draining"),
    });
  });

  it("refuses a foreign Host with 421 on every path (W5)", async () => {
    const { port } = await api();
    const refused = await get(port, "/healthz", { host: "localhost:9090" });
    expect(refused).toMatchObject({ status: 421, body: expect.stringContaining("localhost:9090") });
    // The config accepts the value that the message recommends.
    const advice = /add \\"(.*?)\\" to engine.allowed_hosts/.exec(refused.body)?.[1];
    expect(engineBlockSchema.safeParse({ allowed_hosts: [advice] }).success).toBe(true);
    expect(hostIsOurs("localhost:9090", port, { allowedOrigins: [], allowedHosts: [String(advice)] })).toBe(true);
  });

  it("refuses a target in absolute form whose authority is foreign, whatever the Host says", async () => {
    const { made, port } = await api();
    made.mount({ prefix: "/", handle: (_request, response) => void response.end("root") });
    const ask = (target: string): Promise<string> =>
      sendRaw(port, `GET ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`).closed;
    for (const target of [
      "http://evil.example/",
      `HTTP://evil.example:${port}/healthz`,
      "http://localhost:1/",
      "http:///healthz",
    ]) {
      expect([target, await ask(target)]).toEqual([target, expect.stringMatching(/^HTTP\/1\.1 421 /)]);
    }
    expect(await ask(`http://localhost:${port}/`)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("refuses two Hosts with 400 and over 100 header lines with 431, of which none may go unread (1.4)", async () => {
    const { made, port } = await api();
    made.mount({ prefix: "/", handle: (_request, response) => void response.end("root") });
    const ask = (lines: string): Promise<string> =>
      sendRaw(port, `GET / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n${lines}\r\n`).closed;
    const many = (count: number): string => Array.from({ length: count }, (_, at) => `x-${at}: 1\r\n`).join("");

    expect(await ask("HOST: evil.example\r\n")).toMatch(/^HTTP\/1\.1 400 .*more than one Host/s);
    expect(await ask(many(98))).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask(many(99))).toMatch(/^HTTP\/1\.1 431 .*100 header lines/s);
    expect(await ask(`${many(120)}Content-Length: 5\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it.each([
    ["/healthz", ""],
    ["/", "evil.example"],
  ])("does not wait for ever for the body of a request that it answers itself: %s %s (1.4)", async (path, host) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    undo.push(() => vi.useRealTimers());
    const { made, port } = await api();
    made.mount({ prefix: "/", boundsBodies: true, handle: (_request, response) => void response.end("root") });
    const { socket, answered, closed } = sendRaw(
      port,
      `GET ${path} HTTP/1.1\r\nHost: ${host || `localhost:${port}`}\r\nContent-Length: 1000000\r\n\r\n`,
    );
    const drip = setInterval(() => socket.write("x"), 20);
    undo.push(() => clearInterval(drip));
    await answered;

    vi.advanceTimersByTime(60_000);

    expect(await closed).toMatch(/^HTTP\/1\.1 (?:200|421) /);
  });

  it("names a port that is in use, and keeps the one before when a move fails", async () => {
    const { made, port } = await api();
    const blocker = createServer().listen(0, "127.0.0.1");
    await once(blocker, "listening");
    undo.push(() => blocker.close());
    const taken = (blocker.address() as AddressInfo).port;
    const failure = await made.listener.bind({ host: "127.0.0.1", port: taken }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ListenError);
    expect((failure as Error).message).toContain(`port ${taken} is in use`);
    expect(await get(port, "/healthz", { host: `localhost:${port}` })).toMatchObject({ status: 200 });
  });

  it("moves to another port", async () => {
    const { made, port } = await api();
    await made.listener.bind(LOOPBACK);
    const moved = made.listener.port;
    expect(moved).not.toBe(port);
    expect(await get(moved, "/healthz", { host: `localhost:${moved}` })).toMatchObject({ status: 200 });
  });
});

describe("the real-time listener", () => {
  it("opens sockets, and refuses foreign pages and names and unknown paths (W1, W2, W5, W6, W9)", async () => {
    const realtime = new Realtime(systemClock, () => rules, silentLogger, {
      serves: (path) => path === "/",
      accept: (socket) => socket.onMessage((text) => socket.send(`echo ${text}`)),
    });
    await realtime.listener.bind(LOOPBACK);
    undo.push(() => realtime.listener.close());
    const url = `ws://127.0.0.1:${realtime.listener.port}`;
    const socket = (await upgrade(`${url}/`)) as WebSocket;
    socket.send("hi");
    expect(String(((await once(socket, "message")) as [Buffer])[0])).toBe("echo hi");
    expect(await upgrade(`${url}/nope`)).toMatchObject({ status: 404 });
    expect(await upgrade(`${url}/`, { origin: "http://evil.example" })).toMatchObject({ status: 403 });
    expect(await upgrade(`${url}/`, { origin: "null" })).toMatchObject({ status: 403 });
    // Another server on this machine is another origin.
    expect(await upgrade(`${url}/`, { origin: "http://localhost:3000" })).toMatchObject({ status: 403 });
    expect(await upgrade(`${url}/`, { host: `evil.example:${realtime.listener.port}` })).toMatchObject({ status: 421 });
    expect(await upgrade(`${url}/`, { host: `0.0.0.0:${realtime.listener.port}` })).toMatchObject({ status: 421 });
    const closed = once(socket, "close");
    socket.send("x".repeat(64 * 1024 + 1));
    expect((await closed)[0]).toBe(1009);
  });
});
