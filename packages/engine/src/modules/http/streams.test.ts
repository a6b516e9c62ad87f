import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import type { ChannelReader, ChannelWriter } from "../../kernel/module.ts";
import { manualClock } from "../../testing/index.ts";
import { arrivals, bind, errorOf, held, post, type Site, serve, site } from "./testing/site.ts";

const bytes = (text: string): { readonly kind: "binary"; readonly bytes: Buffer } => ({
  kind: "binary",
  bytes: Buffer.from(text),
});
const control = (message: unknown): { readonly kind: "text"; readonly text: string } => ({
  kind: "text",
  text: JSON.stringify(message),
});

async function readAll(reader: ChannelReader): Promise<string> {
  const pieces: Buffer[] = [];
  for (let item = await reader.read(); item !== undefined; item = await reader.read())
    if (item.kind === "binary") pieces.push(item.bytes);
  return Buffer.concat(pieces).toString();
}

/** Serves a path with a handler that receives the writing end of its response. */
async function serveStream(
  { engine, worker }: Site,
  path: string,
  handle: (writer: ChannelWriter, input: Record<string, unknown>) => unknown,
  config: Record<string, unknown> = {},
): Promise<void> {
  await serve(worker, path, (input) => handle(engine.takeWriter(input.response), input), config);
}

/** A request whose body the test sends. */
function open(
  url: string,
  options: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): { request: ClientRequest; response: Promise<IncomingMessage> } {
  const request = httpRequest(url, {
    method: options.method ?? "POST",
    headers: options.headers ?? { "content-type": "application/octet-stream" },
    agent: false,
  });
  request.on("error", () => {});
  const response = once(request, "response").then(([message]) => message as IncomingMessage);
  response.catch(() => {});
  return { request, response };
}

describe("a streamed answer", () => {
  it("has the status and headers that were set before its first bytes, and ends with the stream (gap 23)", async () => {
    const here = await site();
    await serveStream(here, "/s", async (writer) => {
      await writer.write(control({ type: "set_status", status_code: 202 }));
      await writer.write(
        control({
          type: "set_headers",
          headers: {
            "x-a": "b",
            "content-type": "text/plain",
            "bad name": "x",
            "x-cr": "a\r\nb: c",
            "set-cookie": ["a=1", "b=2"],
          },
        }),
      );
      await writer.write(control({ type: "unheard_of" }));
      await writer.write({ kind: "text", text: "not json" });
      await writer.write(bytes("hel"));
      await writer.write(control({ type: "set_status", status_code: 500 }));
      await writer.write(bytes("lo"));
      writer.end();
    });

    const response = await fetch(`${here.url}/s`);
    expect([
      response.status,
      response.headers.get("x-a"),
      response.headers.get("x-cr"),
      response.headers.getSetCookie(),
      await response.text(),
    ]).toEqual([202, "b", null, ["a=1", "b=2"], "hello"]);
    expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    await expect.poll(() => here.engine.kernel.channels.size).toBe(0);
  });

  it("reaches the client piece by piece, as server-sent events do", async () => {
    const here = await site();
    const { handle: wait, calls, release } = held();
    await serveStream(here, "/events", async (writer) => {
      await writer.write(control({ type: "set_headers", headers: { "content-type": "text/event-stream" } }));
      await writer.write(bytes("data: 1\n\n"));
      await wait(undefined, {});
      await writer.write(bytes("data: 2\n\n"));
      writer.end();
    });

    const response = await fetch(`${here.url}/events`, { headers: { "accept-encoding": "gzip" } });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect([response.headers.get("content-type"), response.headers.get("content-encoding")]).toEqual([
      "text/event-stream",
      null,
    ]);
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("data: 1\n\n");
    await calls.count(1);
    release();
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("data: 2\n\n");
    expect((await reader.read()).done).toBe(true);
  });

  it("may begin after the function returned nothing, and may be only a status", async () => {
    const here = await site();
    let late: ChannelWriter | undefined;
    await serve(here.worker, "/late", (input) => {
      late = here.engine.takeWriter(input.response);
    });
    await serveStream(here, "/status", async (writer) => {
      await writer.write(control({ type: "set_status", status_code: 204 }));
      writer.end();
    });
    await serveStream(here, "/empty", (writer) => writer.end());

    const answer = fetch(`${here.url}/late`);
    await expect.poll(() => late).toBeDefined();
    await late?.write(bytes("late"));
    late?.end();
    expect(await (await answer).text()).toBe("late");
    expect((await fetch(`${here.url}/status`)).status).toBe(204);
    const empty = await fetch(`${here.url}/empty`);
    expect([empty.status, empty.headers.get("content-length"), await empty.text()]).toEqual([200, "0", ""]);
  });

  it("loses to a result that comes before any byte, and wins over whatever comes after", async () => {
    const here = await site();
    await serveStream(here, "/result", async (writer) => {
      await writer.write(control({ type: "set_status", status_code: 202 }));
      return { status_code: 201, body: "result" };
    });
    await serveStream(here, "/null", () => null);
    await serveStream(here, "/bytes", async (writer) => {
      await writer.write(bytes("bytes"));
      writer.end();
      return { status_code: 500, body: "too late" };
    });
    await serveStream(here, "/fails-late", async (writer) => {
      await writer.write(bytes("bytes"));
      writer.end();
      throw new Error("too late");
    });
    await serveStream(here, "/fails-early", async (writer) => {
      await writer.write(control({ type: "set_status", status_code: 202 }));
      throw new Error("early");
    });

    const get = async (path: string): Promise<unknown[]> => {
      const response = await fetch(`${here.url}${path}`);
      return [response.status, await response.text()];
    };
    // A status alone decides nothing: a result may still follow.
    const [status] = await get("/fails-early");
    expect(status).toBe(500);
    expect(await get("/bytes")).toEqual([200, "bytes"]);
    expect(await get("/fails-late")).toEqual([200, "bytes"]);
    expect(await get("/result")).toEqual([201, '"result"']);
  });

  it("is 504 when the function returns nothing and writes nothing, and null is a value", async () => {
    const clock = manualClock();
    const here = await site({ clock });
    const called = arrivals<number>();
    await serve(here.worker, "/nothing", () => called.add(1));
    await serve(here.worker, "/null", () => null);
    const answer = fetch(`${here.url}/nothing`);
    await called.count(1);
    await expect.poll(() => here.engine.kernel.router.counts.inFlight).toBe(0);
    clock.advance(30_000);
    const response = await answer;
    const { code, message } = await errorOf(response);
    expect([response.status, code, message]).toEqual([
      504,
      "call_timeout",
      expect.stringContaining("returned nothing and wrote nothing"),
    ]);
    expect(await (await fetch(`${here.url}/null`)).json()).toBeNull();
    await expect.poll(() => here.engine.kernel.channels.size).toBe(0);
  });

  it("goes on past the route's deadline once it has begun", async () => {
    const clock = manualClock();
    const here = await site({ clock });
    const { handle: wait, calls, release } = held();
    await serveStream(
      here,
      "/long",
      async (writer) => {
        await writer.write(bytes("a"));
        await wait(undefined, {});
        await writer.write(bytes("b"));
        writer.end();
      },
      { timeout_ms: 1_000 },
    );
    const response = await fetch(`${here.url}/long`);
    await calls.count(1);
    clock.advance(60_000);
    release();
    expect(await response.text()).toBe("ab");
  });

  it.each([
    ["breaks off", (writer: ChannelWriter) => writer.abort("broken")],
    ["is shorter than it said", (writer: ChannelWriter) => writer.end()],
  ])("that %s is cut off, so that it cannot be taken for a whole one", async (what, finish) => {
    const here = await site();
    const { handle: wait, calls, release } = held();
    await serveStream(here, "/torn", async (writer) => {
      if (what === "is shorter than it said")
        await writer.write(control({ type: "set_headers", headers: { "Content-Length": "100" } }));
      await writer.write(bytes("half"));
      await wait(undefined, {});
      finish(writer);
    });
    const response = await fetch(`${here.url}/torn`);
    expect(response.status).toBe(200);
    await calls.count(1);
    release();
    await expect(response.text()).rejects.toThrow();
  });

  it("may say its length", async () => {
    const here = await site();
    await serveStream(here, "/known", async (writer) => {
      await writer.write(control({ type: "set_headers", headers: { "content-length": "5" } }));
      await writer.write(bytes("12345"));
      writer.end();
    });
    const response = await fetch(`${here.url}/known`);
    expect([
      response.headers.get("content-length"),
      response.headers.get("transfer-encoding"),
      await response.text(),
    ]).toEqual(["5", null, "12345"]);
  });

  it("answers HEAD with its head alone", async () => {
    const here = await site();
    await serveStream(here, "/s", async (writer) => {
      await writer.write(control({ type: "set_headers", headers: { "x-a": "1" } }));
      await writer.write(bytes("body"));
    });
    const response = await fetch(`${here.url}/s`, { method: "HEAD" });
    expect([response.status, response.headers.get("x-a"), await response.text()]).toEqual([200, "1", ""]);
    await expect.poll(() => here.engine.kernel.channels.size).toBe(0);
  });

  it("whose body is not sent leaves the function no more time than another one", async () => {
    const clock = manualClock();
    const here = await site({ clock });
    const { handle: wait, calls } = held();
    await serveStream(here, "/s", async (writer) => {
      await writer.write(bytes("a"));
      await wait(undefined, {});
    });
    expect((await fetch(`${here.url}/s`, { method: "HEAD" })).status).toBe(200);
    await calls.count(1);
    const withdrawn = here.worker.next((frame) => frame.type === "cancelinvocation");
    clock.advance(31_000);
    await withdrawn;
    expect(here.engine.kernel.router.counts.inFlight).toBe(0);
  });

  it("ends for the function when the client leaves: its call is withdrawn and its channel gone (gap 30)", async () => {
    const here = await site();
    let isGone = (): void => {};
    const gone = new Promise<void>((resolve) => {
      isGone = resolve;
    });
    const { handle: wait } = held();
    await serveStream(here, "/endless", async (writer) => {
      writer.onClosed(() => isGone());
      await writer.write(bytes("x"));
      await wait(undefined, {});
    });
    const abort = new AbortController();
    const response = await fetch(`${here.url}/endless`, { signal: abort.signal });
    const withdrawn = here.worker.next((frame) => frame.type === "cancelinvocation");
    abort.abort();
    await expect(response.text()).rejects.toThrow();
    await withdrawn;
    await gone;
    expect(here.engine.kernel.channels.size).toBe(0);
  });

  it("holds the function back while the client does not read, and cuts the client off after a minute", async () => {
    const clock = manualClock();
    const here = await site({ clock });
    let written = 0;
    let isGone = false;
    await serveStream(here, "/flood", async (writer) => {
      const piece = { kind: "binary", bytes: Buffer.alloc(65_536) } as const;
      while (await writer.write(piece)) written += piece.bytes.length;
      isGone = true;
    });
    const { request, response } = open(`${here.url}/flood`, { method: "GET", headers: {} });
    request.end();
    (await response).pause();
    let before = -1;
    await expect
      .poll(() => {
        const same = written === before;
        before = written;
        return same && written > 0;
      })
      .toBe(true);
    expect(written).toBeLessThan(32 * 1024 * 1024);
    clock.advance(60_000);
    await expect.poll(() => isGone).toBe(true);
  });

  it("passes through middleware after the handler, which sees and changes its headers only (gap 29)", async () => {
    const here = await site({ config: { middleware: [{ function_id: "mw::after", phase: "postHandler" }] } });
    let seen: unknown;
    here.worker.serve("mw::after", (data) => {
      seen = (data as { response: unknown }).response;
      return { action: "continue", response: { headers: { "x-after": "1" } } };
    });
    await serveStream(here, "/s", async (writer) => {
      await writer.write(control({ type: "set_headers", headers: { "x-a": "1" } }));
      await writer.write(bytes("body"));
      writer.end();
    });
    const response = await fetch(`${here.url}/s`);
    expect([response.headers.get("x-after"), await response.text()]).toEqual(["1", "body"]);
    expect(seen).toEqual({ status_code: 200, headers: { "x-a": "1" }, streamed: true });
  });

  it("is cut when the module stops and the grace period ends", async () => {
    const clock = manualClock();
    const here = await site({ clock });
    const { handle: wait } = held();
    await serveStream(here, "/endless", async (writer) => {
      await writer.write(bytes("x"));
      await wait(undefined, {});
    });
    const response = await fetch(`${here.url}/endless`);
    const stopping = here.engine.applyModules([]);
    clock.advance(10_000);
    await expect(response.text()).rejects.toThrow();
    await stopping;
  });
});

describe("a streamed body", () => {
  it("of a type that is not read here reaches the function as it comes (gap 23)", async () => {
    const here = await site();
    await serve(
      here.worker,
      "/up",
      async ({ body, request_body }) => ({ body: [body, await readAll(here.engine.takeReader(request_body))] }),
      {
        http_method: "POST",
      },
    );
    const response = await post(`${here.url}/up`, Buffer.alloc(3_000_000, "x"), "application/octet-stream");
    expect(await response.json()).toEqual([null, "x".repeat(3_000_000)]);
  });

  it("may be of any type and size where the route says so", async () => {
    const here = await site({ config: { body_limit_bytes: 10 } });
    await serve(
      here.worker,
      "/up",
      async ({ body, request_body }) => ({
        body: [body, (await readAll(here.engine.takeReader(request_body))).length],
      }),
      {
        http_method: "POST",
        body: "stream",
      },
    );
    expect(await (await post(`${here.url}/up`, `"${"x".repeat(100_000)}"`)).json()).toEqual([null, 100_002]);
    expect((await fetch(`${here.url}/up`, { method: "POST", body: Buffer.from("x") })).status).toBe(415);
  });

  it("comes over the channel too when it was read: one item, then the end", async () => {
    const here = await site();
    await serve(
      here.worker,
      "/json",
      async ({ request_body }) => {
        const reader = here.engine.takeReader(request_body);
        return {
          body: [await reader.read(), await reader.read(), reader.ended].map((each) =>
            typeof each === "object" ? (each as { kind: string }).kind : (each ?? "end"),
          ),
        };
      },
      { http_method: "POST" },
    );
    expect(await (await post(`${here.url}/json`, '{"a":1}')).json()).toEqual(["binary", "end", "finished"]);
    expect(await (await fetch(`${here.url}/json`, { method: "POST" })).json()).toEqual(["end", "end", "finished"]);
  });

  it("holds the client back while the function does not read", async () => {
    const here = await site();
    const { handle, calls, release } = held();
    await serve(here.worker, "/up", handle, { http_method: "POST" });
    const { request, response } = open(`${here.url}/up`);
    let sent = 0;
    const piece = Buffer.alloc(65_536);
    const send = (): void => {
      while (request.write(piece)) sent += piece.length;
      request.once("drain", send);
    };
    send();
    await calls.count(1);
    let before = -1;
    await expect
      .poll(() => {
        const same = sent === before;
        before = sent;
        return same;
      })
      .toBe(true);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    release();
    expect((await response).statusCode).toBe(200);
    request.destroy();
  });

  it("of which the function wants only the beginning is taken to its end, so that the client can read its answer (1.4)", async () => {
    // The clock stands still, so that the body's idle timeout cannot help.
    const here = await site({ clock: manualClock() });
    await serve(
      here.worker,
      "/up",
      async ({ request_body }) => ({
        status_code: 413,
        body: (await here.engine.takeReader(request_body).read())?.kind,
      }),
      {
        http_method: "POST",
      },
    );
    const { request, response } = open(`${here.url}/up`);
    const sent = once(request, "finish");
    request.end(Buffer.alloc(32 * 1024 * 1024));
    const answer = await response;
    await sent;
    expect([answer.statusCode, answer.headers.connection]).toEqual([413, "close"]);
  });

  it("that breaks off is torn for the function, and its call is withdrawn (1.4)", async () => {
    const here = await site();
    const [called, ends] = [arrivals<number>(), arrivals<string>()];
    await serve(
      here.worker,
      "/up",
      async ({ request_body }) => {
        const reader = here.engine.takeReader(request_body);
        called.add(1);
        await readAll(reader);
        ends.add(reader.ended);
        return 1;
      },
      { http_method: "POST" },
    );
    const withdrawn = here.worker.next((frame) => frame.type === "cancelinvocation");
    const { request } = open(`${here.url}/up`, {
      headers: { "content-type": "application/octet-stream", "content-length": "100" },
    });
    request.write("half");
    await called.count(1);
    request.destroy();
    await withdrawn;
    await ends.count(1);
    expect(ends.items).toEqual(["aborted"]);
    expect(here.engine.kernel.channels.size).toBe(0);
  });

  it("that stands still for a minute is answered 408 (1.4)", async () => {
    const clock = manualClock();
    const here = await site({ clock });
    const read = arrivals<unknown>();
    await serve(
      here.worker,
      "/up",
      async ({ request_body }) => {
        const reader = here.engine.takeReader(request_body);
        read.add(await reader.read());
        read.add(await reader.read());
        return reader.ended;
      },
      { http_method: "POST", timeout_ms: 600_000 },
    );
    const { request, response } = open(`${here.url}/up`);
    request.write("begun");
    await read.count(1);
    clock.advance(60_000);
    await read.count(2);
    expect((await response).statusCode).toBe(408);
    request.destroy();
  });

  it("and a streamed answer may run at the same time", async () => {
    const here = await site();
    await serveStream(
      here,
      "/echo",
      async (writer, { request_body }) => {
        const reader = here.engine.takeReader(request_body);
        for (let item = await reader.read(); item !== undefined; item = await reader.read()) await writer.write(item);
        writer.end();
      },
      { http_method: "POST" },
    );
    const { request, response } = open(`${here.url}/echo`);
    request.write("one");
    const answer = await response;
    const pieces: string[] = [];
    for await (const piece of answer as AsyncIterable<Buffer>) {
      pieces.push(String(piece));
      if (pieces.length === 1) request.end("two");
    }
    expect(pieces).toEqual(["one", "two"]);
  });

  it("is not offered by a route without streaming", async () => {
    const here = await site();
    await serve(here.worker, "/plain", (input) => ({ body: Object.keys(input) }), { streaming: false });
    const keys = (await (await fetch(`${here.url}/plain`)).json()) as string[];
    expect(keys).not.toEqual(expect.arrayContaining(["response"]));
    expect(here.engine.kernel.channels.size).toBe(0);
  });

  it("is not shown to a condition", async () => {
    const here = await site();
    let seen: unknown;
    here.worker.serve("test::condition", (data) => {
      seen = data;
      return true;
    });
    await serve(here.worker, "/x", () => 1, { condition_function_id: "test::condition" });
    await fetch(`${here.url}/x`);
    expect(seen).not.toHaveProperty("request_body");
    expect(seen).not.toHaveProperty("response");
    expect(await bind(here.worker, "test::/x", { api_path: "/y" })).toMatchObject({ status: "active" });
  });
});
