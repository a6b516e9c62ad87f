import { Validator } from "@seriousme/openapi-schema-validator";
import { afterEach, describe, expect, it } from "vitest";
import type { Module } from "../kernel/module.ts";
import { type InMemoryEngine, inMemoryEngine } from "../testing/index.ts";
import { consoleApi } from "./console-api/index.ts";
import { httpModule } from "./http/index.ts";

let running: InMemoryEngine | undefined;
afterEach(async () => running?.stop());

async function start(
  options: { readonly withHttp?: boolean; readonly enabled?: boolean } = {},
): Promise<{ engine: InMemoryEngine; url: string }> {
  const api = consoleApi(() => ({
    enabled: options.enabled ?? true,
    originIsAllowed: (origin) => origin === undefined,
    fetchSiteIsSafe: ({ headers }) => headers["sec-fetch-site"] !== "cross-site",
  }));
  const engine = await inMemoryEngine({
    modules: [api, ...(options.withHttp === false ? [] : [httpModule as unknown as Module<never>])],
  });
  running = engine;
  return { engine, url: `${await engine.http()}/_console/openapi.json` };
}

describe("GET /_console/openapi.json", () => {
  it("describes all routes as a valid OpenAPI 3.1 document, by the functions' formats (gap 33)", async () => {
    const { engine, url } = await start();
    const worker = await engine.connectWorker();
    const body = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    worker.say({
      type: "registerfunction",
      id: "orders::put",
      description: "Changes an order",
      request_format: {
        type: "object",
        properties: {
          body,
          query_params: { type: "object", properties: { dry: { type: "string" } }, required: ["dry"] },
        },
      },
      response_format: {
        type: "object",
        properties: {
          status_code: { type: "integer" },
          body: { type: "object", properties: { ok: { type: "boolean" } } },
        },
      },
    });
    worker.say({
      type: "registerfunction",
      id: "odd",
      request_format: { $ref: "#/definitions/x" },
      response_format: "nonsense",
    });
    const routes = [
      ["orders::put", { api_path: "/orders/:id", http_method: "PUT" }],
      ["orders::put", { api_path: "/orders/{order}", http_method: "DELETE" }],
      ["odd", { api_path: "files/*rest" }],
      ["odd", { api_path: "/café/{*tail}", http_method: "POST" }],
    ] as const;
    for (const [at, [function_id, config]] of routes.entries()) {
      worker.say({ type: "registertrigger", id: `t${at}`, trigger_type: "http", function_id, config });
      await worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === `t${at}`);
    }

    const response = await fetch(url);
    const document = (await response.json()) as { openapi: string; paths: Record<string, Record<string, unknown>> };

    expect([response.status, response.headers.get("x-content-type-options"), document.openapi]).toEqual([
      200,
      "nosniff",
      "3.1.0",
    ]);
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
    expect(Object.keys(document.paths)).toEqual(["/orders/{id}", "/files/{rest}", "/café/{tail}"]);
    expect(document.paths["/orders/{id}"]?.put).toMatchObject({
      operationId: "orders::put",
      summary: "Changes an order",
      parameters: [
        { name: "id", in: "path", required: true },
        { name: "dry", in: "query", required: true },
      ],
      requestBody: { content: { "application/json": { schema: body } } },
      responses: {
        "200": { content: { "application/json": { schema: { properties: { ok: { type: "boolean" } } } } } },
      },
    });
    expect(document.paths["/orders/{id}"]?.delete).toMatchObject({
      operationId: "orders::put DELETE",
      parameters: [{ name: "id" }, { name: "dry" }],
    });
  });

  it("is for nobody else: not for pages of other sites, not when it is switched off, not for other methods", async () => {
    const { url } = await start();
    expect((await fetch(url, { headers: { origin: "http://evil.example" } })).status).toBe(403);
    expect((await fetch(url, { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
    await running?.stop();
    const off = await start({ enabled: false });
    expect((await fetch(off.url)).status).toBe(404);
  });

  it("names the module that is missing", async () => {
    const { url } = await start({ withHttp: false });
    const response = await fetch(url);
    expect([response.status, ((await response.json()) as { error: { message: string } }).error.message]).toEqual([
      404,
      expect.stringContaining("svc worker add svc-http"),
    ]);
  });
});
