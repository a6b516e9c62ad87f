import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { InMemoryEngine, InMemoryWorker } from "../../testing/index.ts";
import { bind, post, site } from "./testing/site.ts";

describe("the config of a trigger of a published client (decision 42)", () => {
  const withExtras = {
    api_path: "/orders",
    http_method: "POST",
    description: "Takes an order",
    retries: 3,
    rate_limit: { requests: 5, per_ms: 1_000, burst: 2 },
  };

  it("may have members that the type does not know, which are kept, shown and warned about", async () => {
    const { engine, url } = await site();
    const client = await engine.connectWorker({ features: [], version: "0.22.1" });
    client.serve("take", () => ({ status_code: 201, body: "taken" }));
    client.say({
      type: "registertrigger",
      id: randomUUID(),
      trigger_type: "http",
      function_id: "take",
      config: withExtras,
    });
    expect((await post(`${url}/orders`, "{}")).status).toBe(201);
    expect(engine.directory.triggers()).toMatchObject([{ status: "active", config: withExtras }]);
    expect(engine.logs.filter(({ level }) => level === "warn")).toMatchObject([
      {
        message: "unknown members in the config of a trigger were ignored",
        fields: {
          trigger_type: "http",
          function_id: "take",
          problem: "`rate_limit`: unknown member `burst`; config: unknown member `retries`",
        },
      },
    ]);
  });

  it("is refused when what it knows is wrong", async () => {
    const { engine } = await site();
    const client = await engine.connectWorker({ features: [] });
    expect(await bind(client, "take", { ...withExtras, http_method: "FETCH" })).toMatchObject({
      error: { message: expect.stringMatching(/^http trigger: `http_method`: expected one of/) },
    });
  });

  it.each(["before", "after"])(
    "is refused to a worker of ours that asks for it %s a published client",
    async (when) => {
      const { engine, url, worker } = await site();
      const client = await engine.connectWorker({ features: [], version: "0.22.1" });
      const refusal = {
        status: "error",
        error: { message: expect.stringContaining("unknown member `retries`") as string },
      };
      if (when === "before") expect(await bind(worker, "take", withExtras)).toMatchObject(refusal);
      client.serve("take", () => ({ status_code: 201, body: "taken" }));
      client.say({
        type: "registertrigger",
        id: "published",
        trigger_type: "http",
        function_id: "take",
        config: withExtras,
      });
      expect((await post(`${url}/orders`, "{}")).status).toBe(201);
      if (when === "after") expect(await bind(worker, "take", withExtras)).toMatchObject(refusal);
      expect((await post(`${url}/orders`, "{}")).status).toBe(201);
      client.say({ type: "unregistertrigger", id: "published", trigger_type: "http" });
      client.say({ type: "ping" });
      await client.next((frame) => frame.type === "pong");
      expect(engine.directory.triggers()).toEqual([]);
      expect((await post(`${url}/orders`, "{}")).status).toBe(404);
      expect(await bind(worker, "take", withExtras)).toMatchObject(refusal);
    },
  );

  it("may have a description with every client, and no unknown members with ours", async () => {
    const { engine, worker } = await site();
    const described = { api_path: "/orders", description: "Takes an order" };
    expect(await bind(worker, "take", described)).toMatchObject({ status: "inactive" });
    expect(engine.directory.triggers()).toMatchObject([{ config: described }]);
    expect(await bind(worker, "take", { ...described, description: 7 })).toMatchObject({
      error: { message: "http trigger: config: unknown member `description`" },
    });
    expect(await bind(worker, "take", withExtras)).toMatchObject({
      error: { message: expect.stringContaining("unknown member `retries`") },
    });
  });
});

describe("a multipart form", () => {
  const form = '--x\r\ncontent-disposition: form-data; name="who"\r\n\r\nAda\r\n--x--\r\n';
  const contentType = 'multipart/form-data; boundary="x"';

  /** Serves a function that returns `body`, the names of its input's members, and the text of `request_body`. */
  function describeForm(engine: InMemoryEngine, worker: InMemoryWorker): void {
    worker.serve("form", async (data) => {
      const { body, files, request_body } = data as Record<string, unknown>;
      const reader = engine.takeReader(request_body);
      let raw = "";
      for (let item = await reader.read(); item !== undefined; item = await reader.read())
        if (item.kind === "binary") raw += item.bytes.toString();
      return { status_code: 200, body: { body, files, raw } };
    });
  }

  it("reaches a published client's function as it was sent, and ours parsed (decision 42)", async () => {
    const { engine, worker, url } = await site();
    const client = await engine.connectWorker({ features: [], version: "0.11.6" });
    describeForm(engine, client);
    await bind(worker, "form", { api_path: "/form", http_method: "POST" });
    expect(await (await post(`${url}/form`, form, contentType)).json()).toEqual({ body: null, raw: form });

    // As soon as one of our workers provides the function too, it is not known which one gets the call.
    describeForm(engine, worker);
    expect(await (await post(`${url}/form`, form, contentType)).json()).toEqual({
      body: { who: "Ada" },
      files: [],
      raw: "",
    });
  });
});
