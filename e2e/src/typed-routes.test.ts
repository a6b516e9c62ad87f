import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, json, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type EngineProcess, startEngine } from "./support/cli.ts";

const project = mkdtempSync(join(tmpdir(), "svc-typed-routes-"));
let engine: EngineProcess;
let worker: Worker;
let url: string;

const order = z.object({ item: z.string(), count: z.number().int().positive().default(1) });

beforeAll(async () => {
  const ports = await freePorts();
  // The engine would refuse strings that a schema converts, if it checked them.
  writeFileSync(join(project, "config.yaml"), "engine: {validate_requests: true}\nworkers:\n  - name: svc-http\n");
  engine = await startEngine({ cwd: project, ports });
  worker = connect(`ws://localhost:${ports.bridge}`, { name: "shop", handleSignals: false });
  url = `http://localhost:${ports.http}`;
  const routes = [
    worker.http.post(
      "/shops/:shop/orders/:id",
      {
        description: "Takes an order",
        params: z.object({ shop: z.string(), id: z.coerce.number().int() }),
        query: z.object({ tag: z.array(z.string()).default([]), dry: z.stringbool().default(false) }),
        headers: z.object({ "x-tenant": z.string() }),
        body: order,
        response: z.object({ saved: z.boolean() }),
      },
      ({ params, query, headers, body, request }) =>
        json({ params, query, tenant: headers["x-tenant"], body, method: request.method }, { status: 201 }),
    ),
    worker.http.get("/files/*path", ({ params }) => params.path),
    worker.http.get("/ticks", { query: z.object({ count: z.coerce.number() }) }, async ({ query }, response) => {
      for (let tick = 1; tick <= query.count; tick++) await response.sse({ data: tick });
    }),
    worker.http.put("/upload", { body: z.object({ title: z.string() }) }, async ({ body, request }) => {
      const [file] = request.files ?? [];
      return { title: body.title, name: file?.filename, text: await file?.body.text() };
    }),
    worker.http.put("/bytes", { body: "stream" }, async ({ request }) => {
      let bytes = 0;
      for await (const piece of request.request_body ?? []) bytes += piece.length;
      return { bytes };
    }),
  ];
  for (const { trigger } of routes) expect(await trigger.registered).toEqual({ status: "active" });
});

afterAll(async () => {
  await worker?.shutdown({ timeoutMs: 1 });
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
});

const post = (path: string, body: unknown, headers: Record<string, string> = { "x-tenant": "acme" }) =>
  fetch(`${url}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });

describe("a typed route", () => {
  it("receives the outputs of its schemas", async () => {
    const response = await post("/shops/tea/orders/7?tag=a&dry=yes", { item: "oolong", more: 1 });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({
      params: { shop: "tea", id: 7 },
      query: { tag: ["a"], dry: true },
      tenant: "acme",
      body: { item: "oolong", count: 1 },
      method: "POST",
    });
    expect(await (await fetch(`${url}/files/a/b%20c`)).json()).toBe("a/b c");
  });

  it("answers 400 with every problem of the request", async () => {
    const response = await post("/shops/tea/orders/x?dry=perhaps", { count: 0 }, {});
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as {
      error: { code: string; message: string; issues: { in: string; path: unknown[]; message: string }[] };
    };
    expect(error.code).toBe("invalid_input");
    expect(error.message).toContain("the request does not match the route POST /shops/:shop/orders/:id: `params.id`: ");
    expect(error.issues.map(({ in: part, path }) => [part, path])).toEqual([
      ["params", ["id"]],
      ["query", ["dry"]],
      ["headers", ["x-tenant"]],
      ["body", ["item"]],
      ["body", ["count"]],
    ]);
  });

  it("streams its response, and reads forms with files and streamed bodies", async () => {
    expect(await (await fetch(`${url}/ticks?count=2`)).text()).toBe("data: 1\n\ndata: 2\n\n");
    expect((await fetch(`${url}/ticks`)).status).toBe(400);
    const form = new FormData();
    form.set("title", "Notes");
    form.set("file", new Blob(["hello"]), "notes.txt");
    const upload = await fetch(`${url}/upload`, { method: "PUT", body: form });
    expect(await upload.json()).toEqual({ title: "Notes", name: "notes.txt", text: "hello" });
    expect((await fetch(`${url}/upload`, { method: "PUT", body: new FormData() })).status).toBe(400);
    const bytes = await fetch(`${url}/bytes`, { method: "PUT", body: "x".repeat(100_000) });
    expect(await bytes.json()).toEqual({ bytes: 100_000 });
  });

  it("is described in OpenAPI and by its function's formats", async () => {
    const { paths } = (await (await fetch(`${url}/_console/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Record<string, unknown>>>;
    };
    expect(paths["/shops/{shop}/orders/{id}"]?.post).toMatchObject({
      operationId: "http::POST /shops/:shop/orders/:id",
      summary: "Takes an order",
      parameters: [
        { name: "shop", in: "path", schema: { type: "string" } },
        { name: "id", in: "path", schema: { type: "integer" } },
        { name: "tag", in: "query", required: false, schema: { type: "array" } },
        { name: "dry", in: "query", required: false },
        { name: "x-tenant", in: "header", required: true, schema: { type: "string" } },
      ],
      requestBody: { content: { "application/json": { schema: { required: ["item"] } } } },
      responses: { "200": { content: { "application/json": { schema: { required: ["saved"] } } } } },
    });
    const listed = await worker.call<{ functions: { function_id: string; request_format: object }[] }>({
      function_id: "engine::functions::list",
      payload: {},
    });
    const listing = listed.functions.find(({ function_id }) => function_id.startsWith("http::POST /shops"));
    expect(listing?.request_format).toMatchObject({
      required: ["path_params", "query_params", "headers", "body"],
      properties: { body: { properties: { item: { type: "string" } } } },
    });
  });
});
