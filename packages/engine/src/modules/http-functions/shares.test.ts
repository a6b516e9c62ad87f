import { afterEach, describe, expect, it } from "vitest";
import { type Endpoint, endpoint, json, type Respond } from "../../outbound-http/testing/endpoint.ts";
import type { InMemoryWorker } from "../../testing/index.ts";
import { accessTo } from "../../testing/restricted.ts";
import { type HttpFunctionEngine, httpFunctionEngine } from "./testing/http-function-engine.ts";

const started: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of started.splice(0).reverse()) await each.stop();
});

async function scene(respond: Respond): Promise<{ readonly engine: HttpFunctionEngine; readonly server: Endpoint }> {
  const engine = await httpFunctionEngine();
  started.push(engine);
  const server = await endpoint(respond);
  started.push(server);
  return { engine, server };
}

/** A restricted connection that registers functions with the URL. */
async function tenant(engine: HttpFunctionEngine, server: Endpoint, ids: readonly string[]): Promise<InMemoryWorker> {
  const worker = await engine.connectWorker({ access: accessTo([]) });
  for (const id of ids)
    worker.say({
      type: "registerfunction",
      id,
      invocation: { url: `http://127.0.0.1:${server.port}/`, timeout_ms: 60_000 },
    });
  worker.say({ type: "ping" });
  await worker.next(({ type }) => type === "pong");
  return worker;
}

const failed = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

describe("functions behind a URL of a restricted connection", () => {
  it("have a share of the requests under way, so that those that hang leave room for the owner's", async () => {
    const hanging: (() => void)[] = [];
    const { engine, server } = await scene(({ body }, response) => {
      if (body === '"hang"') hanging.push(() => json(response, 1));
      else json(response, "served");
    });
    await engine.register("owner", { url: `http://127.0.0.1:${server.port}/` });
    await tenant(engine, server, ["one", "two"]);
    const held = ["one", "two"].flatMap((id) => Array.from({ length: 64 }, () => failed(engine.call(id, "hang"))));
    await expect.poll(() => hanging.length).toBe(128);
    await expect(engine.call("one", "hang")).rejects.toMatchObject({
      code: "overloaded",
      message: expect.stringMatching(/^one: all connections of .* together have 128 HTTP requests in flight of 128$/),
    });
    expect(await engine.call("owner", "quick")).toBe("served");
    for (const release of hanging) release();
    expect(new Set(await Promise.all(held))).toEqual(new Set([1]));
    expect(await engine.call("one", "quick")).toBe("served");
  });

  it("have a share of the memory for payloads and answers", async () => {
    const stalled: (() => void)[] = [];
    const part = Buffer.alloc(14 * 1024 * 1024, 32);
    const { engine, server } = await scene(({ body }, response) => {
      if (body.length > 100) {
        stalled.push(() => json(response, 1));
        return;
      }
      response.writeHead(200, { "content-type": "application/json" });
      response.write(part);
      stalled.push(() => response.end("1"));
    });
    await tenant(engine, server, ["one"]);
    await engine.register("owner", { url: `http://127.0.0.1:${server.port}/` });
    const large = "x".repeat(15 * 1024 * 1024);
    const payloads = [failed(engine.call("one", large)), failed(engine.call("one", large))];
    await expect.poll(() => stalled.length).toBe(2);
    const overloaded = {
      code: "overloaded",
      message: expect.stringContaining("bytes of HTTP requests in flight of 33554432"),
    };
    await expect(engine.call("one", large)).rejects.toMatchObject(overloaded);
    const ownersPayload = failed(engine.call("owner", large));
    await expect.poll(() => stalled.length).toBe(3);
    for (const release of stalled.splice(0)) release();
    expect(await Promise.all([...payloads, ownersPayload])).toEqual([1, 1, 1]);
    // Responses count as they arrive.
    const answers = Array.from({ length: 3 }, () => failed(engine.call("one", 0)));
    await expect.poll(() => stalled.length).toBe(3);
    // The function has run, so a retry needs consideration.
    expect(await Promise.race(answers)).toMatchObject({ code: "http_response_failed", executed: "yes" });
    for (const release of stalled) release();
    expect((await Promise.all(answers)).filter((answer) => answer === 1)).toHaveLength(2);
  });
});

it("calls of a restricted connection to a URL function of the owner have the share of that connection", async () => {
  const hanging: (() => void)[] = [];
  const { engine, server } = await scene(({ body }, response) => {
    if (body === '"hang"') hanging.push(() => json(response, 1));
    else json(response, "served");
  });
  await engine.register("owner", { url: `http://127.0.0.1:${server.port}/` });
  const tenant = await engine.connectWorker({ access: accessTo(["owner"]) });
  const held = Array.from({ length: 129 }, () => tenant.call("owner", "hang"));
  const { error } = await Promise.race(held);
  expect(error).toMatchObject({
    code: "overloaded",
    message: expect.stringContaining("together have 128 HTTP requests in flight of 128"),
  });
  await expect.poll(() => hanging.length).toBe(128);
  expect(await engine.call("owner", "quick")).toBe("served");
  for (const release of hanging) release();
  expect((await Promise.all(held)).filter(({ result }) => result === 1)).toHaveLength(128);
});
