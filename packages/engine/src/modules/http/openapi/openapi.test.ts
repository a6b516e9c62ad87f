import { describe, expect, it } from "vitest";
import { ANONYMOUS } from "../../../access/grants.ts";
import { policyOf } from "../../../access/policy.ts";
import { SessionAccess } from "../../../access/session-access.ts";
import { serve, site } from "../testing/site.ts";
import { requestContent, responseContent } from "./openapi-content.ts";

const HOOKS = {
  onFunctionRegistrationFunctionId: undefined,
  onTriggerRegistrationFunctionId: undefined,
  onTriggerTypeRegistrationFunctionId: undefined,
};

it("describes to a restricted caller only the routes of functions that it may know of (gap 56) (K11)", async () => {
  const { engine, worker } = await site();
  await serve(worker, "/open", () => 1);
  await serve(worker, "/secret", () => 1);
  const rbac = {
    authFunctionId: undefined,
    exposeFunctions: ['match("engine::*")', 'match("test::/open")'],
    roles: [],
    tokens: [],
    ...HOOKS,
  };
  const access = new SessionAccess(
    ANONYMOUS,
    policyOf({ tokenRequired: false, rbac, middlewareFunctionId: undefined }),
  );
  const guest = await engine.connectWorker({ access });

  const seenBy = async (caller: typeof guest): Promise<string[]> => {
    const { result } = (await caller.call("engine::http::openapi")) as { result: { paths: Record<string, unknown> } };
    return Object.keys(result.paths);
  };
  expect([await seenBy(guest), await seenBy(worker)]).toEqual([["/open"], ["/open", "/secret"]]);
});

describe("an OpenAPI operation", () => {
  const plain = { streamsBody: false, streaming: true };
  const typesOf = (content: object): string[] => Object.keys(content);
  const format = (properties: object): unknown => ({ type: "object", properties });

  it.each([
    ["multipart/form-data", format({ body: { type: "object" }, files: { type: "array" } }), plain],
    ["application/octet-stream", format({ request_body: {} }), plain],
    ["text/plain", format({ body: { type: "string" } }), plain],
    ["text/csv", format({ body: { type: "string", contentMediaType: "text/csv; charset=utf-8" } }), plain],
    ["application/json", format({ body: { type: "object" } }), plain],
    ["*/*", format({ body: { type: "object" } }), { streamsBody: true, streaming: true }],
  ])("takes %s when format and config say so", (type, requestFormat, settings) => {
    expect(typesOf(requestContent(requestFormat, settings))).toEqual([type]);
  });

  it("takes every type that is read when nothing says otherwise", () => {
    const read = ["application/json", "application/x-www-form-urlencoded", "text/plain"];
    expect(typesOf(requestContent(undefined, { streamsBody: false, streaming: false }))).toEqual(read);
    expect(typesOf(requestContent(null, plain))).toEqual([...read, "multipart/form-data", "application/octet-stream"]);
  });

  it.each([
    ["text/event-stream", { type: "string", contentMediaType: "text/event-stream" }],
    [
      "text/event-stream",
      format({ body: { type: "string" }, headers: format({ "Content-Type": { const: "text/event-stream" } }) }),
    ],
    ["application/json", { type: "string", contentMediaType: "no type" }],
    ["application/json", format({ ok: { type: "boolean" } })],
    ["*/*", null],
  ])("answers %s by its format", (type, responseFormat) => {
    expect(typesOf(responseContent(responseFormat))).toEqual([type]);
  });

  it("has the parameters that the function's format describes", async () => {
    const { worker } = await site();
    await serve(worker, "/orders/:id", () => 1);
    worker.say({
      type: "registerfunction",
      id: "test::/orders/:id",
      request_format: {
        type: "object",
        properties: {
          path_params: { type: "object", properties: { id: { type: "integer" } } },
          query_params: { type: "object", properties: { tag: { type: "array" } }, required: ["tag"] },
          headers: { type: "object", properties: { "x-tenant": { type: "string" }, Accept: { type: "string" } } },
        },
      },
    });
    const { result } = (await worker.call("engine::http::openapi")) as {
      result: { paths: Record<string, Record<string, { parameters: object }>> };
    };
    expect(result.paths["/orders/{id}"]?.get?.parameters).toEqual([
      { name: "id", in: "path", required: true, schema: { type: "integer" } },
      { name: "tag", in: "query", required: true, schema: { type: "array" } },
      { name: "x-tenant", in: "header", required: false, schema: { type: "string" } },
    ]);
  });

  it("describes bodies by formats with references, as components of the document", async () => {
    const { worker } = await site();
    await serve(worker, "/orders", () => 1, { http_method: "POST" });
    const line = { title: "Line", type: "object", properties: { item: { type: "string" } } };
    const order = (ref: string) => ({ type: "object", properties: { lines: { items: { $ref: ref } } } });
    worker.say({
      type: "registerfunction",
      id: "test::/orders",
      request_format: {
        type: "object",
        properties: { body: order("#/$defs/body.Line"), path_params: { $ref: "#/$defs/missing" } },
        $defs: { "body.Line": line },
      },
      response_format: { type: "array", items: order("#/$defs/Line"), $defs: { Line: line } },
    });
    const { result } = (await worker.call("engine::http::openapi")) as {
      result: {
        paths: Record<string, Record<string, { requestBody: object; responses: Record<string, object> }>>;
        components: { schemas: Record<string, unknown> };
      };
    };
    const post = result.paths["/orders"]?.post;
    const described = order("#/components/schemas/Line");
    expect(post?.requestBody).toEqual({ content: { "application/json": { schema: described } } });
    expect(post?.responses["200"]).toMatchObject({
      content: { "application/json": { schema: { type: "array", items: described } } },
    });
    expect(result.components.schemas).toEqual({ Error: expect.anything(), Line: line });
  });

  it("names the statuses that its route can have", async () => {
    const { worker, engine } = await site();
    worker.serve("test::may", () => true);
    await serve(worker, "/get", () => 1);
    await serve(worker, "/post", () => 1, {
      http_method: "POST",
      condition_function_id: "test::may",
      rate_limit: { requests: 1, per_ms: 1_000 },
    });
    const { paths } = (await engine.call("engine::http::openapi")) as {
      paths: Record<string, Record<string, { responses: object }>>;
    };
    expect(Object.keys(paths["/get"]?.get?.responses ?? {})).toEqual(["200", "400", "500", "503", "504"]);
    expect(Object.keys(paths["/post"]?.post?.responses ?? {})).toEqual([
      "200",
      "400",
      "408",
      "413",
      "415",
      "422",
      "429",
      "500",
      "503",
      "504",
    ]);
  });
});
