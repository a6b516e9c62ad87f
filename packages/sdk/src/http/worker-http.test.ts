import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { FakeEngine, type Frame } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";
import { connect, http, json, type StandardSchema, type Worker, withJsonSchema } from "../node.ts";

const WRITE = { channel_id: "c-out", access_key: "k", direction: "write" };
const REQUEST = {
  path_params: { id: "7" },
  query_params: { tag: "b", limit: "5" },
  query: { tag: ["a", "b"], limit: ["5"] },
  headers: { "x-tenant": "acme", accept: "*/*" },
  cookies: {},
  method: "POST",
  body: { item: "tea", count: 2 },
  request_id: "r",
};

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

async function answerOf(function_id: string, more: Frame = {}): Promise<Frame> {
  const { type: _, ...registration } = await engine.frame({ type: "registerfunction", id: function_id });
  expect(registration.id).toBe(function_id);
  const invocation_id = crypto.randomUUID();
  engine.send({ data: { ...REQUEST, ...more }, type: "invokefunction", invocation_id, function_id });
  return engine.frame({ type: "invocationresult", invocation_id });
}

/** A schema of a library without a conversion to JSON Schema. */
function plainSchema<Output>(
  validate: StandardSchema<unknown, Output>["~standard"]["validate"],
): StandardSchema<unknown, Output> {
  return { "~standard": { version: 1, vendor: "test", validate } };
}

describe("a typed route", () => {
  it("passes the outputs of its schemas, and the request as it arrived", async () => {
    worker.http.post(
      "/orders/:id",
      {
        params: z.object({ id: z.coerce.number() }),
        query: z.object({ tag: z.array(z.string()), limit: z.coerce.number().default(10) }),
        headers: z.object({ "x-tenant": z.string() }),
        body: z.object({ item: z.string(), count: z.number().default(1) }),
        response: z.object({ ok: z.boolean() }),
      },
      ({ params, query, headers, body, request }) =>
        json({ params, query, headers, body, raw: request.path_params }, { status: 201 }),
    );
    const { result } = await answerOf("http::POST /orders/:id", { body: { item: "tea", more: 1 } });
    expect(result).toEqual({
      status_code: 201,
      headers: {},
      body: {
        params: { id: 7 },
        query: { tag: ["a", "b"], limit: 5 },
        headers: { "x-tenant": "acme" },
        body: { item: "tea", count: 1 },
        raw: { id: "7" },
      },
    });
  });

  it("passes strings, and lists for repeated query parameters, without schemas", async () => {
    worker.http.get("/orders/:id", ({ params, query, headers, body }) => ({
      params,
      query,
      tenant: headers["x-tenant"],
      body,
    }));
    expect((await answerOf("http::GET /orders/:id")).result).toEqual({
      params: { id: "7" },
      query: { tag: ["a", "b"], limit: "5" },
      tenant: "acme",
      body: REQUEST.body,
    });
  });

  it("answers 400 with every problem and its path, and does not run the handler", async () => {
    let ran = 0;
    worker.http.post(
      "/orders/:id",
      {
        functionId: "shop::order",
        params: z.object({ id: z.uuid("no UUID") }),
        query: z.object({ limit: z.coerce.number().max(3, "too many") }),
        body: z.object({ item: z.string(), lines: z.array(z.object({ qty: z.number("no number") })) }),
      },
      () => ran++,
    );
    const { result, error } = await answerOf("shop::order", {
      body: { item: "tea", lines: [{ qty: 1 }, { qty: "2" }] },
    });
    expect(error).toBeUndefined();
    expect(result).toEqual({
      status_code: 400,
      headers: { "x-content-type-options": "nosniff" },
      body: {
        error: {
          code: "invalid_input",
          message:
            "the request does not match the route POST /orders/:id: `params.id`: no UUID; `query.limit`: too many; `body.lines.1.qty`: no number",
          issues: [
            { in: "params", path: ["id"], message: "no UUID" },
            { in: "query", path: ["limit"], message: "too many" },
            { in: "body", path: ["lines", 1, "qty"], message: "no number" },
          ],
        },
      },
    });
    expect(ran).toBe(0);
  });

  it("answers with at most 100 problems, of which the message has 20", async () => {
    const schema = z.object({ rows: z.array(z.string("no text")) });
    worker.http.post("/rows", { body: schema }, () => 1);
    const { result } = await answerOf("http::POST /rows", { body: { rows: Array.from({ length: 200 }, () => 1) } });
    const { error } = (result as { body: { error: { message: string; issues: unknown[] } } }).body;
    expect(error.issues).toHaveLength(100);
    expect(error.message).toMatch(/`body\.rows\.19`: no text; and 80 more$/);
  });

  it("awaits schemas with asynchronous checks, of any library", async () => {
    const even = plainSchema(async (value) => {
      const n = Number((value as { id: string }).id);
      return n % 2 === 0 ? { value: { id: n } } : { issues: [{ message: "must be even", path: [{ key: "id" }] }] };
    });
    worker.http.get("/even/:id", { params: even }, ({ params }) => params.id + 1);
    expect((await answerOf("http::GET /even/:id", { path_params: { id: "4" } })).result).toBe(5);
    expect((await answerOf("http::GET /even/:id")).result).toMatchObject({
      status_code: 400,
      body: { error: { issues: [{ in: "params", path: ["id"], message: "must be even" }] } },
    });
    expect(await engine.frame({ type: "registerfunction" })).not.toHaveProperty("request_format");
  });

  it("may write its response, and has the handler's context", async () => {
    worker.http.get("/ticks", async (_input, response, context) => {
      response.headers({ "x-call": context.invocationId });
      await response.sse({ data: 1 });
    });
    const { result } = await answerOf("http::GET /ticks", { response: WRITE });
    expect(result).toBeUndefined();
    const end = await engine.end();
    await end.closed;
    expect(end.items.filter((item) => typeof item === "string").join()).toContain("x-call");
    expect(String(end.bytes[0])).toBe("data: 1\n\n");
  });

  it("registers its function with the JSON Schemas, unchecked by the engine, and its trigger", async () => {
    interface Tree {
      readonly children: readonly Tree[];
    }
    const tree: z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(tree) }));
    /** As valibot's converter returns it: an interface, which is not assignable to a Record. */
    interface ConvertedSchema {
      type?: string;
      properties?: Record<string, object>;
    }
    const id: ConvertedSchema = { type: "object", properties: { id: {} } };
    worker.http.put(
      "/trees/:id",
      {
        description: "Replaces a tree",
        metadata: { team: "a" },
        params: withJsonSchema(
          plainSchema((value) => ({ value })),
          id,
        ),
        body: z.object({ tree, note: z.string().optional() }),
        response: z.object({ saved: z.boolean() }),
        timeoutMs: 5_000,
        bodyLimitBytes: 1_000,
        rateLimit: { requests: 1, perMs: 10 },
      },
      () => ({ saved: true }),
    );
    const registration = await engine.frame({ type: "registerfunction" });
    expect(registration).toMatchObject({
      id: "http::PUT /trees/:id",
      description: "Replaces a tree",
      metadata: { team: "a" },
      validate: false,
      request_format: {
        type: "object",
        required: ["path_params", "body"],
        properties: {
          path_params: { type: "object", properties: { id: {} } },
          body: { type: "object", required: ["tree"] },
        },
      },
      response_format: { type: "object", required: ["saved"] },
    });
    const format = JSON.stringify(registration.request_format);
    const refs = [...format.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref as string);
    expect(refs.length).toBeGreaterThan(0);
    for (const ref of refs) {
      const found = ref
        .slice(2)
        .split("/")
        .reduce((value: unknown, part) => (value as Frame | undefined)?.[part], registration.request_format);
      expect(found, ref).toBeTypeOf("object");
    }
    expect(await engine.frame({ type: "registertrigger" })).toMatchObject({
      trigger_type: "http",
      function_id: "http::PUT /trees/:id",
      config: {
        api_path: "/trees/:id",
        http_method: "PUT",
        timeout_ms: 5_000,
        body_limit_bytes: 1_000,
        rate_limit: { requests: 1, per_ms: 10 },
      },
    });
  });

  it("shows what JSON Schema cannot express as any value", async () => {
    worker.http.get("/since", { query: z.object({ at: z.coerce.date() }) }, ({ query }) => query.at.getTime());
    expect(await engine.frame({ type: "registerfunction" })).toMatchObject({
      request_format: { properties: { query_params: { properties: { at: {} } } } },
    });
    const query = { at: ["2026-01-01T00:00:00Z"] };
    expect((await answerOf("http::GET /since", { query })).result).toBe(Date.UTC(2026, 0, 1));
  });

  it("leaves the body to the handler with body: stream", async () => {
    worker.http.post("/upload", { body: "stream" }, () => "ok");
    expect(await engine.frame({ type: "registertrigger" })).toMatchObject({ config: { body: "stream" } });
  });

  it("is removed with its trigger, and can be registered again", async () => {
    const route = worker.http.delete("/a", () => 1);
    await engine.frame({ type: "registertrigger", id: route.trigger.id });
    route.unregister();
    await engine.frame({ type: "unregistertrigger", id: route.trigger.id });
    await engine.frame({ type: "unregisterfunction", id: "http::DELETE /a" });
    worker.http.delete("/a", () => 1);
  });

  it.each([
    ["an unknown option", { timeout: 5 }, "http.get has no option timeout; did you mean timeoutMs?"],
    ["a JSON Schema", { query: { type: "object" } }, "query of the route GET /a must be a schema of zod"],
    ["a response that is no schema", { response: { type: "object" } }, "response of the route GET /a must be a schema"],
  ])("refuses %s with TypeError and registers nothing", async (_what, options, message) => {
    expect(() => worker.http.get("/a", options as never, () => 1)).toThrow(TypeError);
    expect(() => worker.http.get("/a", options as never, () => 1)).toThrow(message);
    expect(() => worker.http.get("/a", {}, undefined as never)).toThrow("must be a function");
    await worker.connected();
    expect(engine.frames.filter(({ type }) => type === "registerfunction")).toEqual([]);
  });
});

describe("http() with a requestFormat", () => {
  it("checks the described members and keeps the others, with the response channel", async () => {
    worker.registerFunction(
      "http::create",
      http<{ item: string }>(async (request, response) => {
        await response.status(201).write(`${request.body.item} ${request.path_params.id} ${request.headers.accept}`);
      }),
      { requestFormat: z.object({ body: z.object({ item: z.string().toUpperCase() }) }) },
    );
    expect((await answerOf("http::create", { response: WRITE })).result).toBeUndefined();
    const end = await engine.end();
    await end.closed;
    expect(String(end.bytes[0])).toBe("TEA 7 */*");
    expect((await answerOf("http::create", { body: {} })).error).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("`body.item`"),
    });
  });
});
