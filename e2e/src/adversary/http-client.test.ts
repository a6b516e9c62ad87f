// An HTTP client that sends what no library sends (section 1.4 of the threat model).
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "./support/client.ts";
import { type Site, startSite, Ticks } from "./support/site.ts";

let site: Site;
let owner: Client;
const ticks = new Ticks();
const seen: Readonly<Record<string, unknown>>[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  site = await startSite(
    () => `
workers:
  - name: svc-http
    config: { concurrency_request_limit: 8 }
  - name: svc-cron
`,
  );
  owner = site.owner;
  await owner.serve("owner::tick", () => ticks.add());
  await owner.bind("cron", "owner::tick", { expression: "* * * * * *" });
  await owner.serve("owner::echo", (data) => {
    seen.push(data as Record<string, unknown>);
    return { status_code: 200, body: "echo" };
  });
  await owner.serve("owner::fails", () => {
    throw new Error("secret-reason at /home/owner/app.js:12");
  });
  await owner.serve("owner::bad-headers", () => ({
    status_code: 200,
    headers: {
      "x-split": "a\r\nset-cookie: stolen=1",
      "transfer-encoding": "chunked",
      "content-length": "1",
      connection: "upgrade",
    },
    body: "body",
  }));
  for (const [id, api_path, http_method] of [
    ["owner::echo", "/echo", "POST"],
    ["owner::echo", "/echo", "GET"],
    ["owner::echo", "/files/:name", "GET"],
    ["owner::fails", "/fails", "GET"],
    ["owner::bad-headers", "/bad-headers", "GET"],
  ] as const) {
    expect(await owner.bind("http", id, { api_path, http_method })).toMatchObject({ status: "active" });
  }
});
afterAll(() => site?.stop());

/** The control of every test: a well-formed request and the cron trigger still work. */
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  const response = await fetch(`${site.http}/echo`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"n":1}',
  });
  expect([response.status, await response.json()]).toEqual([200, "echo"]);
  await ticks.more(1);
});

/** Writes bytes and resolves with everything received until the engine closes, or until that is enough. */
function send(bytes: string | Buffer, isEnough: (answer: string) => boolean = () => false): Promise<string> {
  const socket = connect(site.ports.http, "127.0.0.1");
  sockets.push(socket);
  let answer = "";
  socket.write(bytes);
  return new Promise((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (isEnough(answer)) resolve(answer);
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
const host = (): string => `Host: localhost:${site.ports.http}`;
const get = (target: string, ...headers: string[]): string =>
  [`GET ${target} HTTP/1.1`, host(), "Connection: close", ...headers, "", ""].join("\r\n");
const post = (body: string, ...headers: string[]): string =>
  ["POST /echo HTTP/1.1", host(), "Connection: close", ...headers, "", body].join("\r\n");

describe("a malformed request", () => {
  it("is refused: two Hosts, foreign authorities, bad framing", async () => {
    const chunked = "Transfer-Encoding: chunked";
    const json = "Content-Type: application/json";
    const requests: readonly (readonly [string, string, readonly number[]])[] = [
      ["two Hosts", `GET /echo HTTP/1.1\r\n${host()}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`, [400, 421]],
      ["no Host", "GET /echo HTTP/1.1\r\nConnection: close\r\n\r\n", [400, 421]],
      ["foreign Host", "GET /echo HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", [421]],
      ["foreign absolute target", get("http://evil.example/echo"), [421]],
      ["length and chunks", post("0\r\n\r\nGET /fails HTTP/1.1\r\n\r\n", json, "Content-Length: 5", chunked), [400]],
      ["two lengths", post("{}xxxx", json, "Content-Length: 2", "Content-Length: 6"), [400]],
      ["length with a sign", post("{}", json, "Content-Length: +2"), [400]],
      ["broken chunk size", post("zz\r\n{}\r\n0\r\n\r\n", json, chunked), [400]],
      ["unknown coding", post("{}", json, "Transfer-Encoding: gzip"), [400, 501]],
      ["header without a name", get("/echo", ": x"), [400]],
      ["folded header", get("/echo", "X-A: a\r\n b"), [400]],
      ["NUL in a header", get("/echo", "X-A: a\0b"), [400]],
      ["no HTTP", "NONSENSE\r\n\r\n", [400]],
      ["large header", get("/echo", `X-A: ${"a".repeat(20_000)}`), [431]],
      ["unknown expectation", post("{}", json, "Expect: something", "Content-Length: 2"), [417]],
      [
        "unknown upgrade",
        get("/echo", "Upgrade: h2c").replace("Connection: close", "Connection: Upgrade"),
        [400, 404, 426, 200],
      ],
    ];
    const { length } = seen;
    for (const [what, bytes, wanted] of requests) {
      const answer = await send(bytes, (text) => what === "unknown upgrade" && text.includes("\r\n\r\n"));
      expect([what, statusOf(answer)]).toEqual([what, expect.toSatisfy((status: number) => wanted.includes(status))]);
    }
    // At most the ignored upgrade reached the function.
    expect(seen.length - length).toBeLessThanOrEqual(2);
  });

  it("with a path that is decoded to something else never reaches a route", async () => {
    const { length } = seen;
    for (const target of [
      "/files/a%2fb",
      "/files/a%5cb",
      "/files/%00",
      "/files/..",
      "/files/%2e%2e",
      "/files/.",
      "/files/%zz",
      "/files/%c3%28",
      "/files/%ff",
    ]) {
      expect([target, statusOf(await send(get(target)))]).toEqual([
        target,
        expect.toSatisfy((status: number) => status === 400 || status === 404),
      ]);
    }
    expect(seen.length).toBe(length);
    expect(statusOf(await send(get("/files/plain")))).toBe(200);
  });

  it("with a body that is too large, no JSON, or of another type is refused before the function is called", async () => {
    const { length } = seen;
    const json = "Content-Type: application/json";
    for (const [body, wanted, ...headers] of [
      ["", 413, json, "Content-Length: 100000000"],
      ["{", 400, json, "Content-Length: 1"],
      ["\u00ff\u00fe", 400, json, "Content-Length: 4"],
      [`${"[".repeat(20_000)}`, 400, json, "Content-Length: 20000"],
    ] as const) {
      expect([body.slice(0, 10), statusOf(await send(post(body, ...headers)))]).toEqual([body.slice(0, 10), wanted]);
    }
    expect(seen.length).toBe(length);
  });
});

describe("a well-formed request with hostile content", () => {
  it("changes no prototype and no trace: __proto__ in query, JSON and headers, long baggage, forged trace context", async () => {
    const body = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    await send(
      [
        "POST /echo?__proto__=1&constructor=2&a=1&a=2 HTTP/1.1",
        host(),
        "Connection: close",
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
        "__proto__: x",
        "traceparent: 00-nonsense",
        `baggage: k=${"v".repeat(9_000)}`,
        "",
        body,
      ].join("\r\n"),
    );
    const request = seen.at(-1) as Record<string, unknown> & { body: object };
    expect(Object.keys(request.body)).toEqual(["__proto__", "constructor"]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("learns no internals from a failure, and splits no response by headers of a function", async () => {
    const failed = await send(get("/fails"));
    expect(statusOf(failed)).toBe(500);
    expect(failed).not.toMatch(/\n\s+at |node_modules|raw-worker/);
    const answer = await send(get("/bad-headers"));
    expect(answer.toLowerCase()).not.toMatch(/^set-cookie: stolen/m);
    expect((answer.match(/^HTTP\/1\.1 /gm) ?? []).length).toBe(1);
  });

  it("reads no file and no page of the console by methods that browsers do not send", async () => {
    for (const method of ["TRACE", "CONNECT", "PROPFIND", "OPTIONS"]) {
      const answer = await send(
        [`${method} /_console/invoke HTTP/1.1`, host(), "Connection: close", "", ""].join("\r\n"),
      );
      expect([method, statusOf(answer)]).toEqual([
        method,
        expect.toSatisfy((status: number) => status === 0 || status >= 400),
      ]);
    }
  });
});

describe("a client that uses up resources", () => {
  it("by slow heads, bodies that stop and aborted requests keeps nobody else waiting", async () => {
    // A body that is being read occupies one of the 8 places until its route times out. These requests leave some
    // places free.
    for (let n = 0; n < 4; n++) void send(post("{", "Content-Type: application/json", "Content-Length: 100"));
    for (let n = 0; n < 40; n++) {
      void send("GET /echo HTTP/1.1\r\nX-");
      const aborted = connect(site.ports.http, "127.0.0.1");
      aborted.on("error", () => {});
      aborted.end(get("/echo"));
      aborted.destroy();
    }
    for (let n = 0; n < 5; n++) expect((await fetch(`${site.http}/echo`)).status).toBe(200);
  });

  it("by requests at the limit gets 503 with Retry-After, and there is room again when they end", async () => {
    const waiting = new Ticks();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await owner.serve("owner::slow", async () => {
      waiting.add();
      await held;
    });
    await owner.bind("http", "owner::slow", { api_path: "/slow" });
    const first = waiting.more(8);
    const requests = Array.from({ length: 8 }, () => fetch(`${site.http}/slow`));
    await first;
    const refused = await fetch(`${site.http}/slow`);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, expect.any(String)]);
    // The console's own path is not behind the limit.
    expect((await fetch(`${site.http}/healthz`)).status).toBe(200);
    release();
    expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(new Array(8).fill(200));
  });

  it("by pipelining gets an answer to each request, and 503 for those over the limit", async () => {
    const requests = Array.from({ length: 200 }, () => get("/echo").replace("Connection: close\r\n", "")).join("");
    const statuses = (text: string): string[] => text.match(/HTTP\/1\.1 \d{3}/g) ?? [];
    const answer = await send(requests, (text) => statuses(text).length === 200);
    // At most 8 are handled concurrently, over all connections.
    expect(statuses(answer)).toHaveLength(200);
    expect(new Set(statuses(answer))).toEqual(new Set(["HTTP/1.1 200", "HTTP/1.1 503"]));
  });
});
