import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeEngine, type Frame } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";
import { connect, type HttpHandler, http, json, redirect, type Worker } from "../node.ts";
import { eventText } from "./server-sent-event.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const WRITE = { channel_id: "c-out", access_key: "k", direction: "write" };
const READ = { channel_id: "c-in", access_key: "k", direction: "read" };

let engine: FakeEngine;
let worker: Worker;

beforeEach(async () => {
  engine = await FakeEngine.start();
  worker = connect(engine.address, { name: "probe", logger: silentLogger, handleSignals: false });
});

afterEach(async () => {
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
});

/** Runs the handler for a request. Resolves to the frame of its answer. */
async function answerOf(handler: HttpHandler, more: Frame = { request_body: READ, response: WRITE }): Promise<Frame> {
  worker.registerFunction("f", http(handler));
  await engine.frame({ type: "registerfunction", id: "f" });
  engine.send({
    data: { method: "GET", body: null, ...more },
    type: "invokefunction",
    invocation_id: ID,
    function_id: "f",
  });
  return engine.frame({ type: "invocationresult", invocation_id: ID });
}

/** Strings unchanged, bytes as strings. */
async function written(number = 1): Promise<unknown[]> {
  const end = await engine.end(number);
  await end.closed;
  let next = 0;
  return end.items.map((item) => (typeof item === "string" ? JSON.parse(item) : String(end.bytes[next++])));
}

describe("a handler that returns", () => {
  it.each([
    [{ a: 1 }, { a: 1 }],
    ["text", "text"],
    [null, { status_code: 200, body: null }],
    [undefined, { status_code: 204 }],
    [
      { status_code: 201, body: 1 },
      { status_code: 201, body: 1 },
    ],
  ])("%j answers %j and connects nothing", async (result, answer) => {
    expect((await answerOf(() => result)).result).toEqual(answer);
    expect(engine.ends).toEqual([]);
  });

  it("may set status and headers in addition to its return value", async () => {
    const answer = await answerOf((_request, response) => {
      response.status(201).headers({ "X-A": "1", "x-b": ["2", "3"] });
      return { id: 7 };
    });
    expect(answer.result).toEqual({ status_code: 201, headers: { "x-a": "1", "x-b": ["2", "3"] }, body: { id: 7 } });
  });

  it.each([
    [{ status_code: 202 }, { status_code: 202, headers: { a: "1" } }],
    [
      { headers: { A: "2" }, body: "b" },
      { status_code: 418, headers: { a: "2" }, body: "b" },
    ],
    [
      { body: "a blog post", title: "t" },
      { status_code: 418, headers: { a: "1" }, body: { body: "a blog post", title: "t" } },
    ],
    [{}, { status_code: 418, headers: { a: "1" }, body: {} }],
    [[1], { status_code: 418, headers: { a: "1" }, body: [1] }],
  ])("is understood as the engine understands it: %j", async (result, answer) => {
    const answered = await answerOf((_request, response) => {
      response.status(418).headers({ a: "1" });
      return result;
    });
    expect(answered.result).toEqual(answer);
  });

  it("receives the request without the response's channel, and the context", async () => {
    let seen: unknown;
    await answerOf((request, _response, context) => {
      seen = [Object.keys(request), context.functionId];
    });
    expect(seen).toEqual([["method", "body", "request_body"], "f"]);
  });
});

describe("a handler that writes", () => {
  it("sends status and headers before the first chunk, and ends the response when it returns", async () => {
    const answer = await answerOf(async (_request, response) => {
      response.status(202).headers({ "content-type": "text/plain" });
      await response.write("héllo ");
      await response.write(new Uint8Array([33]));
      return { this: "no longer counts" };
    });
    expect("result" in answer || "error" in answer).toBe(false);
    expect(await written()).toEqual([
      { type: "set_status", status_code: 202 },
      { type: "set_headers", headers: { "content-type": "text/plain" } },
      "héllo ",
      "!",
    ]);
    expect(await (await engine.end()).closed).toEqual([1000, ""]);
  });

  it("keeps the order of chunks that are not awaited", async () => {
    await answerOf((_request, response) => {
      for (const piece of ["a", "b", "c"]) void response.write(piece);
    });
    expect(await written()).toEqual(["a", "b", "c"]);
  });

  it("may end the response itself, even without a chunk", async () => {
    await answerOf(async (_request, response) => {
      response.status(304);
      await response.end();
    });
    expect(await written()).toEqual([{ type: "set_status", status_code: 304 }]);
  });

  it("sends status and headers alone when it only sets them", async () => {
    await answerOf((_request, response) => void response.status(202));
    expect(await written()).toEqual([{ type: "set_status", status_code: 202 }]);
  });

  it("aborts the response when it throws after the first chunk, and fails the call", async () => {
    const answer = await answerOf(async (_request, response) => {
      await response.write("half");
      throw new Error("boom");
    });
    expect(answer.error).toMatchObject({ code: "invocation_failed", message: "boom" });
    expect((await (await engine.end()).closed)[0]).toBe(1006);
  });

  it("connects nothing when it throws before that", async () => {
    const answer = await answerOf((_request, response) => {
      response.status(200);
      throw new Error("boom");
    });
    expect(answer.error).toMatchObject({ message: "boom" });
    expect(engine.ends).toEqual([]);
  });

  it("fails with channel_closed after the client disconnected", async () => {
    const answer = await answerOf(async (_request, response) => {
      await response.write("a");
      const end = await engine.end();
      end.socket.terminate();
      await end.closed;
      for (;;) await response.write("b");
    });
    expect(answer.error).toMatchObject({ code: "channel_closed" });
  });

  it("cannot set status or headers after the first chunk", async () => {
    const thrown: unknown[] = [];
    await answerOf(async (_request, response) => {
      expect(response.hasBegun).toBe(false);
      await response.write("a");
      for (const set of [() => response.status(500), () => response.headers({ a: "b" })]) {
        try {
          set();
        } catch (error) {
          thrown.push(error);
        }
      }
    });
    expect(thrown).toEqual([expect.any(TypeError), expect.any(TypeError)]);
  });

  it("gets an error that says to return the response if there is no channel", async () => {
    const answer = await answerOf((_request, response) => response.write("a"), {});
    expect(answer.error).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("return the response instead"),
    });
  });

  it("writes with a web stream too", async () => {
    await answerOf((_request, response) =>
      new Blob(["one", "two"]).stream().pipeTo(response.stream as unknown as WritableStream),
    );
    expect((await written()).join("")).toBe("onetwo");
  });

  it.each([199, 600, 200.5, "200"])("rejects the status %s", async (status) => {
    const answer = await answerOf((_request, response) => void response.status(status as number));
    expect(answer.error).toMatchObject({ message: expect.stringContaining("from 200 to 599") });
  });
});

describe("server-sent events", () => {
  it("set their headers once, unless they were set", async () => {
    await answerOf(async (_request, response) => {
      response.headers({ "Cache-Control": "no-store" });
      await response.sse({ event: "tick", data: { n: 1 }, id: "1", retry: 500 });
      await response.sse({ data: "a\nb" });
    });
    expect(await written()).toEqual([
      { type: "set_headers", headers: { "cache-control": "no-store", "content-type": "text/event-stream" } },
      'event: tick\nid: 1\nretry: 500\ndata: {"n":1}\n\n',
      "data: a\ndata: b\n\n",
    ]);
  });

  it("keep line breaks of every kind inside their field", () => {
    expect(eventText({ data: "a\r\nid: 7\rb\n" })).toBe("data: a\ndata: id: 7\ndata: b\ndata: \n\n");
    expect(eventText({ comment: "still\nhere" })).toBe(": still\n: here\n\n");
    for (const bad of [
      { event: "a\nb" },
      { id: "a\rb" },
      { id: "a\0" },
      { retry: 1.5 },
      { retry: -1 },
      { data: () => {} },
    ])
      expect(() => eventText(bad)).toThrow(TypeError);
  });
});

describe("the body's channel", () => {
  it("is a reader, and is cancelled when the handler returns without reading to the end", async () => {
    const answer = await answerOf(async (request) => {
      const reading = request.request_body?.read();
      (await engine.end()).socket.send(Buffer.from("first"));
      return String(Buffer.from((await reading) as Uint8Array));
    });
    expect(answer.result).toBe("first");
    expect((await (await engine.end()).closed)[0]).toBe(1000);
  });
});

describe("responses by name", () => {
  it("json has a status and headers", () => {
    expect(json({ a: 1 })).toEqual({ status_code: 200, headers: {}, body: { a: 1 } });
    expect(json([], { status: 201, headers: { location: "/a" } })).toEqual({
      status_code: 201,
      headers: { location: "/a" },
      body: [],
    });
    expect(() => json(1, { status: 99 })).toThrow(TypeError);
  });

  it("redirect rejects a location that would inject a header", () => {
    expect(redirect("/login?a=b")).toMatchObject({ status_code: 302, headers: { location: "/login?a=b" }, body: "" });
    expect(redirect("/x", 308)).toMatchObject({ status_code: 308 });
    for (const bad of ["", "/a\r\nset-cookie: x", "/a b", "/ä"]) expect(() => redirect(bad)).toThrow(TypeError);
    expect(() => redirect("/x", 200 as 302)).toThrow(TypeError);
  });
});
