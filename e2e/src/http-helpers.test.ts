import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import {
  type ChannelWriter,
  connect,
  type HttpHandler,
  type HttpMethod,
  type HttpRouteSettings,
  http,
  json,
  redirect,
  type Worker,
} from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";

const project = mkdtempSync(join(tmpdir(), "svc-http-helpers-"));
let ports: Ports;
let engine: EngineProcess;
let worker: Worker;
let url: string;

beforeAll(async () => {
  ports = await freePorts();
  writeFileSync(join(project, "config.yaml"), "workers:\n  - name: svc-http\n");
  engine = await startEngine({ cwd: project, ports });
  worker = connect(`ws://localhost:${ports.bridge}`, { name: "web", handleSignals: false });
  url = `http://localhost:${ports.http}`;
});

afterAll(async () => {
  await worker?.shutdown({ timeoutMs: 1 });
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
});

/** Serves a route with its own name and resolves when it is active. */
async function serve<Body = unknown>(
  name: string,
  handler: HttpHandler<Body>,
  config: HttpRouteSettings & {
    readonly api_path?: string;
    readonly http_method?: HttpMethod;
    readonly body?: "stream";
  } = {},
): Promise<string> {
  worker.registerFunction(`http::${name}`, http<Body>(handler));
  const trigger = worker.registerTrigger({
    type: "http",
    function_id: `http::${name}`,
    config: { api_path: `/${name}`, ...config },
  });
  expect(await trigger.registered).toEqual({ status: "active" });
  return `${url}/${name}`;
}

describe("a plain handler", () => {
  async function plain(
    name: string,
    handler: (request: { readonly response: ChannelWriter }) => unknown,
  ): Promise<Response> {
    worker.registerFunction(`plain::${name}`, (request) => handler(request as { response: ChannelWriter }));
    const trigger = worker.registerTrigger({
      type: "http",
      function_id: `plain::${name}`,
      config: { api_path: `/plain/${name}` },
    });
    await trigger.registered;
    return fetch(`${url}/plain/${name}`);
  }

  it("that returns nothing has responded", async () => {
    const response = await plain("nothing", () => undefined);
    expect([response.status, await response.text()]).toEqual([200, "null"]);
  });

  it("that returns while it writes responds with what it writes", async () => {
    const response = await plain("writes", (request) => {
      const writing = (async () => {
        await request.response.write(new TextEncoder().encode("in "));
        await request.response.write(new TextEncoder().encode("pieces"));
        await request.response.end();
      })();
      writing.catch(() => {});
    });
    expect([response.status, await response.text()]).toEqual([200, "in pieces"]);
  });
});

describe("a handler made by http", () => {
  it("responds with its result: a body, a response, null, nothing, a redirect", async () => {
    const answer = async (name: string, handler: HttpHandler): Promise<unknown[]> => {
      const response = await fetch(await serve(name, handler), { redirect: "manual" });
      return [response.status, response.headers.get("x-a") ?? response.headers.get("location"), await response.text()];
    };
    expect(await answer("plain", () => ({ a: 1 }))).toEqual([200, null, '{"a":1}']);
    expect(await answer("made", () => json({ a: 1 }, { status: 201, headers: { "x-a": "1" } }))).toEqual([
      201,
      "1",
      '{"a":1}',
    ]);
    expect(await answer("null", () => null)).toEqual([200, null, "null"]);
    expect(await answer("nothing", () => undefined)).toEqual([204, null, ""]);
    expect(await answer("moved", () => redirect("/plain"))).toEqual([302, "/plain", ""]);
    const beside: HttpHandler = (_request, response) => {
      response.status(202).headers({ "X-A": "2" });
      return "text";
    };
    expect(await answer("beside", beside)).toEqual([202, "2", '"text"']);
  });

  it("receives the whole request", async () => {
    const address = await serve("echo", (request) => ({ ...request, request_body: undefined }), {
      api_path: "/echo/:id",
      http_method: "POST",
    });
    const response = await fetch(`${address}/7?q=1&q=2`, {
      method: "POST",
      body: '{"a":1}',
      headers: { "content-type": "application/json", cookie: "c=d" },
    });
    expect(await response.json()).toMatchObject({
      path_params: { id: "7" },
      query_params: { q: "2" },
      query: { q: ["1", "2"] },
      headers: { "content-type": "application/json" },
      headers_all: { cookie: ["c=d"] },
      cookies: { c: "d" },
      path: "/echo/:id",
      url: "/echo/7?q=1&q=2",
      method: "POST",
      body: { a: 1 },
      request_id: expect.any(String),
      client_address: expect.any(String),
    });
  });

  it("streams what it reads back, with status and headers before it", async () => {
    const address = await serve(
      "upper",
      async ({ request_body }, response) => {
        response.status(203).headers({ "content-type": "application/octet-stream" });
        if (request_body !== undefined) await request_body.stream.pipeTo(response.stream);
      },
      { http_method: "POST", body: "stream" },
    );
    const body = Buffer.alloc(3_000_000, "x");
    const response = await fetch(address, {
      method: "POST",
      body,
      headers: { "content-type": "application/octet-stream" },
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([203, "application/octet-stream"]);
    expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true);
  });

  it("sends events immediately", async () => {
    let release: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const address = await serve("events", async (_request, response) => {
      await response.sse({ event: "tick", data: { n: 1 }, id: "1" });
      await gate;
      await response.sse({ data: "end" });
    });
    const response = await fetch(address);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const pieces = (response.body as ReadableStream<Uint8Array>).getReader();
    const next = async (): Promise<string> => Buffer.from((await pieces.read()).value ?? []).toString();
    expect(await next()).toBe('event: tick\nid: 1\ndata: {"n":1}\n\n');
    release();
    expect(await next()).toBe("data: end\n\n");
    expect((await pieces.read()).done).toBe(true);
  });

  it("shows the client that a response is incomplete if it throws", async () => {
    const address = await serve("half", async (_request, response) => {
      await response.write("half");
      throw new Error("boom");
    });
    const response = await fetch(address);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  it("responds with 500 if it throws before", async () => {
    const response = await fetch(
      await serve("boom", () => {
        throw new Error("boom");
      }),
    );
    expect([response.status, await response.json()]).toMatchObject([
      500,
      { error: { code: "invocation_failed", message: "boom" } },
    ]);
  });

  it("detects that the client disconnected", async () => {
    let outcome: (code: unknown) => void = () => {};
    const seen = new Promise((resolve) => {
      outcome = resolve;
    });
    const address = await serve("endless", async (_request, response, { signal }) => {
      try {
        for (;;) await response.write("x".repeat(1000));
      } catch (error) {
        outcome([(error as { code: string }).code, signal.aborted]);
        throw error;
      }
    });
    const client = request(address).end();
    const [response] = await once(client, "response");
    await once(response, "data");
    client.destroy();
    expect(await seen).toEqual([expect.stringMatching(/^(channel_closed|call_cancelled)$/), expect.any(Boolean)]);
  });
});
