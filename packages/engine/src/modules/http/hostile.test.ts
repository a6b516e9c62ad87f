import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import type { Module } from "../../kernel/module.ts";
import {
  type InMemoryEngine,
  type InMemoryWorker,
  inMemoryEngine,
  type ManualClock,
  manualClock,
} from "../../testing/index.ts";
import { httpModule } from "./index.ts";

let engine: InMemoryEngine | undefined;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await engine?.stop();
  engine = undefined;
});

/** An engine with `POST /echo` (returns its input) and the routes of `routes`. */
async function site(
  routes: Readonly<Record<string, (input: Record<string, unknown>) => unknown>> = {},
  options: { readonly config?: Record<string, unknown>; readonly clock?: ManualClock } = {},
): Promise<{ engine: InMemoryEngine; worker: InMemoryWorker; port: number }> {
  engine = await inMemoryEngine({
    modules: [httpModule as unknown as Module<never>],
    config: { "svc-http": options.config },
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  const worker = await engine.connectWorker();
  for (const [path, handle] of Object.entries({
    "/echo": (input: Record<string, unknown>) => ({ body: input }),
    ...routes,
  })) {
    worker.serve(`test::${path}`, (data) => handle(data as Record<string, unknown>));
    worker.say({
      type: "registertrigger",
      id: `trigger ${path}`,
      trigger_type: "http",
      function_id: `test::${path}`,
      config: { api_path: path, http_method: "POST" },
    });
    await worker.next((frame) => frame.type === "triggerregistrationresult" && frame.status === "active");
  }
  return { engine, worker, port: Number(new URL(await engine.http()).port) };
}

/** Returns the bytes that are still referenced after a full garbage collection. */
function memoryInUse(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

interface RawClient {
  readonly socket: Socket;
  readonly text: string;
  /** Resolves with everything received when it contains `wanted`; rejects if the connection ends first. */
  until(wanted: string): Promise<string>;
  /** Resolves with everything received when the engine has ended the connection. */
  untilClosed(): Promise<string>;
}

async function client(port: number): Promise<RawClient> {
  const socket = connect({ port, host: "127.0.0.1" });
  clients.push(socket);
  let text = "";
  let closed = false;
  let check = (): void => {};
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    check();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
    check();
  });
  await once(socket, "connect");
  const wait = (isDone: () => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      check = () => {
        if (isDone()) resolve(text);
        else if (closed) reject(new Error(`the connection ended after ${JSON.stringify(text)}`));
      };
      check();
    });
  return {
    socket,
    get text() {
      return text;
    },
    until: (wanted) => wait(() => text.includes(wanted)),
    untilClosed: () => wait(() => closed),
  };
}

/** A complete request. `Connection: close` makes the connection end after the response. */
async function ask(port: number, request: string): Promise<string> {
  const { socket, untilClosed } = await client(port);
  socket.write(request.replace("\r\n", "\r\nConnection: close\r\n"));
  return untilClosed();
}

const post = (target: string, body: string, headers = ""): string =>
  `POST ${target} HTTP/1.1\r\nHost: x\r\n${/content-type:/i.test(headers) ? "" : "Content-Type: application/json\r\n"}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

function bodyOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
}

describe("a hostile client", () => {
  it.each([
    "/echo%2Fx",
    "/echo/..",
    "/echo/%2e%2e/echo",
    "/%00",
    "/echo\\x",
    "/echo%5cx",
    "/%",
    "/echo?%",
    "/echo?a=%ff",
  ])("gets 400 for the target %s", async (target) => {
    const { port } = await site();
    const answer = await ask(port, post(target, "{}"));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(bodyOf(answer)).toMatchObject({ error: { code: "invalid_request" } });
  });

  it("cannot call a route with a body that names no type, as a page of another site may send unasked", async () => {
    const { port } = await site();
    expect(await ask(port, 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{"a":1}')).toMatch(
      /^HTTP\/1\.1 415 .*no Content-Type/s,
    );
  });

  it("can send headers called __proto__ and constructor, which stay plain keys", async () => {
    const { port } = await site();
    const { headers } = bodyOf(
      await ask(port, post("/echo", "{}", "__proto__: a\r\nconstructor: b\r\n__proto__: c\r\n")),
    ) as { headers: object };
    expect(Object.entries(headers)).toEqual(
      expect.arrayContaining([
        ["__proto__", "a, c"],
        ["constructor", "b"],
      ]),
    );
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });

  it("gets 400 for two content types", async () => {
    const { port } = await site();
    expect(
      await ask(port, post("/echo", "{}", "Content-Type: application/json\r\nContent-Type: text/plain\r\n")),
    ).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("may send its body in one-byte chunks with extensions", async () => {
    const { port } = await site();
    const body = [...'{"a":"xyz"}'].map((character) => `1;ext="v"\r\n${character}\r\n`).join("");
    const answer = await ask(
      port,
      `POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body}0\r\n\r\n`,
    );
    expect(bodyOf(answer)).toMatchObject({ body: { a: "xyz" } });
  });

  it("reads its 413 although it declares too much and sends all of it", async () => {
    const { port } = await site({}, { config: { body_limit_bytes: 1000 } });
    const { socket, untilClosed } = await client(port);
    socket.write(`POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 8000000\r\n\r\n`);
    for (let sent = 0; sent < 8; sent++) socket.write("x".repeat(1_000_000));
    const answer = await untilClosed();
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain("Connection: close");
    expect(bodyOf(answer)).toMatchObject({ error: { code: "payload_too_large" } });
  });

  it("gets 413 as soon as its chunks are over the limit, long before it ends", async () => {
    const clock = manualClock();
    const { port, engine } = await site({}, { clock, config: { body_limit_bytes: 1000 } });
    const callsBefore = engine.kernel.router.counts.calls;
    const { socket, until, untilClosed } = await client(port);
    socket.write(
      `POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n${(600).toString(16)}\r\n${"x".repeat(600)}\r\n`,
    );
    socket.write(`${(600).toString(16)}\r\n${"x".repeat(600)}\r\n`);
    expect(await until("payload_too_large")).toMatch(/^HTTP\/1\.1 413 /);

    // The connection is not kept for a client that sends indefinitely.
    clock.advance(2_000);
    await untilClosed();
    expect(engine.kernel.router.counts.calls).toBe(callsBefore);
  });

  it("is not waited for when its body does not come", async () => {
    const clock = manualClock();
    const { port } = await site({}, { clock, config: { default_timeout_ms: 5_000 } });
    const { socket, until } = await client(port);
    const timersBefore = clock.pendingTimers;
    socket.write("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{");
    await timerSet(clock, timersBefore);

    clock.advance(5_000);

    expect(await until("request_timeout")).toMatch(/^HTTP\/1\.1 408 /);
  });

  it("that asks before sending (100-continue) is told to go on, and its body is read", async () => {
    const { port } = await site();
    const { socket, until } = await client(port);
    socket.write(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n",
    );
    expect(await until("\r\n\r\n")).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write('{"a":1}');
    expect(await until('"body":{"a":1}')).toContain("HTTP/1.1 200 OK");
  });

  it("that leaves in the middle of its body calls nothing and holds nothing", async () => {
    const { port, engine } = await site({}, { config: { concurrency_request_limit: 1 } });
    for (let round = 0; round < 5; round++) {
      const { socket } = await client(port);
      socket.end("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
      await once(socket, "close");
    }
    expect(await ask(port, post("/echo", "1"))).toMatch(/^HTTP\/1\.1 200 /);
    expect(engine.logs.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  it("gets the answers to 1,000 pipelined requests in order, and 503 for those over the limit (1.4)", async () => {
    const { port } = await site({}, { config: { concurrency_request_limit: 50 } });
    const { socket, until } = await client(port);
    const requests = Array.from({ length: 1_000 }, (_, number) =>
      post("/echo", String(number), "Content-Type: application/json\r\n"),
    );
    socket.write(requests.join("") + post("/last", "1"));
    const answers = await until("no route for POST /last");
    const served = [...answers.matchAll(/"body":([0-9]+)/g)].map((match) => Number(match[1]));
    expect(served.length).toBeGreaterThanOrEqual(50);
    expect(served).toEqual([...served].sort((a, b) => a - b));
    expect(served.length + [...answers.matchAll(/HTTP\/1\.1 503 /g)].length).toBe(1_000);
  });

  it("that leaves behind pipelined requests has all of their calls withdrawn", async () => {
    let calls = 0;
    let allCalled = (): void => {};
    const called = new Promise<void>((resolve) => {
      allCalled = resolve;
    });
    const { port, worker, engine } = await site(
      {
        "/hold": () => {
          if (++calls === 20) allCalled();
          return new Promise(() => {});
        },
      },
      { config: { concurrency_request_limit: 20 } },
    );
    const { socket } = await client(port);
    socket.write(post("/hold", "1").repeat(20));
    await called;
    const withdrawn = Promise.all(
      Array.from({ length: 20 }, () => worker.next((frame) => frame.type === "cancelinvocation")),
    );

    socket.destroy();

    await withdrawn;
    expect(engine.kernel.router.counts.inFlight).toBe(0);
    expect(await ask(port, post("/echo", "1"))).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("that does not read its answer costs the memory for that answer once, and for nothing else of the call", async () => {
    const answerBytes = 12_000_000;
    const { port, worker } = await site({ "/big": () => ({ body: "x".repeat(answerBytes) }) });
    const stall = async (): Promise<void> => {
      const socket = connect({ port, host: "127.0.0.1" });
      clients.push(socket);
      socket.pause();
      socket.write(post("/big", "1"));
      await once(socket, "readable");
    };
    await stall();
    const before = memoryInUse();
    for (let n = 0; n < 3; n++) await stall();
    worker.received.length = 0;
    // Everything else of a call is released when its response was written to the socket, possibly a moment later.
    await expect.poll(() => memoryInUse() - before).toBeLessThan(1.5 * 3 * answerBytes);
  });

  it("that does not read its answer is cut off", async () => {
    const clock = manualClock();
    const { port } = await site({ "/big": () => "x".repeat(15_000_000) }, { clock });
    const timersBefore = clock.pendingTimers;
    const { socket } = await client(port);
    socket.pause();
    socket.write(post("/big", "1"));
    await once(socket, "readable");
    await timerSet(clock, timersBefore);
    const cut = once(socket, "close");

    clock.advance(60_000);
    socket.resume();

    await cut;
    expect(socket.bytesRead).toBeLessThan(15_000_000);
  });

  it.each([
    [
      "both lengths",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "two lengths",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "an unknown transfer coding",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n{}",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "a chunk length that is none",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
    ["a header with a bare CR", "GET /echo HTTP/1.1\r\nHost: x\r\nA: b\rc: d\r\n\r\n", /^HTTP\/1\.1 400 /],
    ["no HTTP at all", "hello\r\n\r\n", /^HTTP\/1\.1 400 /],
    [
      "an upgrade to an unknown protocol",
      "POST /echo HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n1",
      /^HTTP\/1\.1 200 /,
    ],
    [
      "a charset that is not known",
      post("/echo", "{}", "Content-Type: application/json; charset=utf-7\r\n"),
      /^HTTP\/1\.1 415 /,
    ],
    ["a compressed body, which might be a bomb", post("/echo", "{}", "Content-Encoding: gzip\r\n"), /^HTTP\/1\.1 415 /],
    ["JSON nested too deep", post("/echo", `${"[".repeat(5_000)}${"]".repeat(5_000)}`), /^HTTP\/1\.1 400 /],
  ])("that sends %s gets its answer, and the next client too (1.4)", async (_what, request, answer) => {
    const { port } = await site();
    expect(await ask(port, request)).toMatch(answer);
    expect(await ask(port, post("/echo", "1"))).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("that sends __proto__ and constructor in query, form, cookies and JSON pollutes nothing (1.4)", async () => {
    const { port } = await site();
    const form = "__proto__[polluted]=1&constructor.prototype.polluted=1&__proto__=x";
    await ask(
      port,
      post(
        "/echo?__proto__=1&__proto__[polluted]=1",
        form,
        "Content-Type: application/x-www-form-urlencoded\r\nCookie: __proto__=1\r\n",
      ),
    );
    const answer = bodyOf(
      await ask(port, post("/echo", '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')),
    ) as { body: object };
    expect(Object.keys(answer.body)).toEqual(["__proto__", "constructor"]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("that forges forwarded headers is not believed (1.4)", async () => {
    const { port } = await site({}, { config: { trusted_proxies: ["10.0.0.1"] } });
    const forged = "X-Forwarded-For: 10.0.0.1, 8.8.8.8\r\nX-Forwarded-Proto: https\r\nX-Request-Id: mine\r\n";
    const seen = bodyOf(await ask(port, post("/echo", "1", forged))) as Record<string, unknown>;
    expect([seen.client_address, seen.protocol]).toEqual(["127.0.0.1", "http"]);
    expect(seen.request_id).not.toBe("mine");
  });

  it.each([
    ["headers", "/echo", "channel_id: a\r\naccess_key: b\r\ndirection: read\r\n"],
    ["query", "/echo?channel_id=a&access_key=b&direction=write", ""],
    ["cookies", "/echo", "Cookie: channel_id=a; access_key=b; direction=read\r\n"],
  ])(
    "cannot have its %s taken for a channel, which would hide them from the function (1.4)",
    async (_what, target, headers) => {
      const { port } = await site();
      const answer = await ask(port, post(target, "1", headers));
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(bodyOf(answer)).toMatchObject({
        error: { code: "invalid_request", message: expect.stringContaining("ref of a channel") },
      });
      expect(await ask(port, post("/echo?channel_id=a&direction=up", "1"))).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  it("that sends baggage over 8 kB loses it, not its request (1.4)", async () => {
    const { port } = await site();
    expect(await ask(port, post("/echo", "1", `baggage: a=${"x".repeat(8_500)}\r\n`))).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("holds no more channels than it has requests under way, however it leaves (1.4)", async () => {
    const { port, engine } = await site({ "/hold": () => new Promise(() => {}) });
    for (let round = 0; round < 20; round++) {
      const { socket } = await client(port);
      socket.write(post("/hold", "1"));
      socket.destroy();
    }
    await ask(port, post("/echo", "1"));
    await expect.poll(() => [engine.kernel.channels.size, engine.kernel.router.counts.inFlight]).toEqual([0, 0]);
  });

  it("does not hear about the insides of the engine when a handler answers nonsense", async () => {
    const { port, worker } = await site();
    worker.say({ type: "registerfunction", id: "test::nonsense" });
    worker.say({
      type: "registertrigger",
      id: "nonsense",
      trigger_type: "http",
      function_id: "test::nonsense",
      config: { api_path: "/nonsense", http_method: "POST" },
    });
    await worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === "nonsense");
    const responded = ask(port, post("/nonsense", "1"));
    const call = await worker.next(
      (frame) => frame.type === "invokefunction" && frame.function_id === "test::nonsense",
    );
    worker.send(
      `{"type":"invocationresult","invocation_id":"${String(call.invocation_id)}","function_id":"test::nonsense","result":{"a":nope}}`,
    );
    const answer = await responded;
    expect(answer).toMatch(/^HTTP\/1\.1 500 /);
    expect(answer).not.toMatch(/\.ts:|node_modules|\n {4}at /);
  });
});

/** Resolves when one more timer is pending than before. */
async function timerSet(clock: ManualClock, before: number): Promise<void> {
  while (clock.pendingTimers <= before) await new Promise((resolve) => setImmediate(resolve));
}
