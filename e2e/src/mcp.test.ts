// Functions as tools for agents, called with the official client of the Model Context Protocol over both transports.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { startTestEngine, type TestEngine } from "@svc-runtime/engine/test-kit";
import { CallError, connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { svc } from "./support/cli.ts";

const svcBin = fileURLToPath(new URL("../../packages/cli/bin/svc.js", import.meta.url));
let engine: TestEngine;
let worker: Worker;
let aborted: Promise<string>;
let onSlow: (() => void) | undefined;
let onHeld: (() => void) | undefined;
let letGo: (() => void) | undefined;

beforeAll(async () => {
  engine = await startTestEngine({ modules: ["svc-state"] });
  worker = connect(engine.url, { name: "shop", handleSignals: false, logger: silentLogger });
  worker.registerFunction("shop::order", ({ item }) => ({ ordered: item, id: 7 }), {
    description: "Orders an item",
    requestFormat: z.object({ item: z.string() }),
    responseFormat: z.object({ ordered: z.string(), id: z.number() }),
  });
  worker.registerFunction("shop::double", (value: number) => value * 2, { requestFormat: { type: "number" } });
  // The handler's result is not typed, as in JavaScript.
  worker.registerFunction("shop::misreports", () => JSON.parse('{"id":"seven"}'), {
    responseFormat: z.object({ id: z.number() }),
  });
  worker.registerFunction("shop::fail", () => {
    throw new CallError("out_of_stock", "there is no tea", { details: { item: "tea" } });
  });
  aborted = new Promise((resolve) => {
    worker.registerFunction(
      "shop::slow",
      (_payload, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            resolve("aborted");
            reject(new Error("aborted"));
          });
          onSlow?.();
        }),
    );
  });
  worker.registerFunction("shop::held", () => {
    const answer = new Promise<string>((resolve) => {
      letGo = () => resolve("held");
    });
    onHeld?.();
    return answer;
  });
  worker.registerFunction(
    "shop::takes_its_time",
    () => new Promise<string>((resolve) => setTimeout(() => resolve("done"), 1_500)),
  );
  worker.registerFunction("secret::key", () => "hidden");
  await worker.call({ function_id: "engine::info", payload: {} });
});

afterAll(async () => {
  await worker?.shutdown({ timeoutMs: 1 });
  await engine?.stop();
});

async function connected(transport: Transport): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  return client;
}

const stdioTransport = (...args: string[]): StdioClientTransport =>
  new StdioClientTransport({
    command: process.execPath,
    args: [svcBin, "mcp", "--url", engine.url, ...args],
    stderr: "ignore",
  });

describe("svc mcp over standard input and output", () => {
  let client: Client;

  beforeAll(async () => {
    client = await connected(stdioTransport("--allow", "shop::*", "state::get"));
  });
  afterAll(() => client?.close());

  it("offers what is allowed and nothing else: no other worker's function, and of the engine's only those named in full", async () => {
    const { tools } = await client.listTools();

    expect(tools.map(({ name }) => name)).toEqual([
      "shop__double",
      "shop__fail",
      "shop__held",
      "shop__misreports",
      "shop__order",
      "shop__slow",
      "shop__takes_its_time",
      "state__get",
    ]);
    expect(tools.find(({ name }) => name === "shop__order")).toMatchObject({
      title: "shop::order",
      description: "Orders an item",
      inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
      outputSchema: { type: "object", properties: { ordered: { type: "string" } }, required: ["ordered", "id"] },
    });
    await expect(client.callTool({ name: "secret__key", arguments: {} })).rejects.toThrow("Unknown tool");
  });

  it("answers with the result as text and as a block", async () => {
    expect(await client.callTool({ name: "shop__order", arguments: { item: "tea" } })).toEqual({
      content: [{ type: "text", text: '{"ordered":"tea","id":7}' }],
      structuredContent: { ordered: "tea", id: 7 },
    });
    expect(await client.callTool({ name: "shop__double", arguments: { payload: 21 } })).toMatchObject({
      structuredContent: { result: 42 },
    });
  });

  it("answers a function's error as the tool's, with its code", async () => {
    expect(await client.callTool({ name: "shop__fail", arguments: {} })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "out_of_stock: there is no tea" }],
      structuredContent: { error: { code: "out_of_stock", details: { item: "tea" } } },
    });
    expect(await client.callTool({ name: "shop__order", arguments: {} })).toMatchObject({
      isError: true,
      content: [
        { type: "text", text: expect.stringMatching(/^invalid_input: /) },
        { type: "text", text: expect.stringContaining('"code":"invalid_input"') },
      ],
    });
    expect(await client.callTool({ name: "shop__misreports", arguments: {} })).toMatchObject({
      isError: true,
      content: [
        { type: "text", text: expect.stringContaining("its result does not match its response_format") },
        { type: "text", text: '{"result":{"id":"seven"}}' },
      ],
    });
  });

  it("cancels the call when the client does", async () => {
    const cancel = new AbortController();
    const begun = new Promise<void>((resolve) => {
      onSlow = resolve;
    });
    const call = client
      .callTool({ name: "shop__slow", arguments: {} }, undefined, { signal: cancel.signal })
      .catch((error: unknown) => error);
    await begun;
    cancel.abort("enough");

    expect(await aborted).toBe("aborted");
    expect(await call).toBeInstanceOf(Error);
  });

  it("reports progress of a long call", async () => {
    const onprogress = vi.fn();

    expect(
      await client.callTool({ name: "shop__takes_its_time", arguments: {} }, undefined, { onprogress }),
    ).toMatchObject({
      structuredContent: { result: "done" },
    });
    expect(onprogress).toHaveBeenCalledWith({ progress: 1, message: "shop::takes_its_time has been running for 1 s" });
  });

  it("reports added and removed functions", async () => {
    let told = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      told += 1;
    });
    const { unregister } = worker.registerFunction("shop::later", () => "here");
    await expect.poll(() => told).toBe(1);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("shop__later");

    unregister();
    await expect.poll(() => told).toBe(2);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("shop__later");
  });
});

it("writes only the protocol to standard output, and ends with standard input", async () => {
  const child = spawn(process.execPath, [svcBin, "mcp", "--url", engine.url, "--allow", "shop::*"], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  let out = "";
  let notes = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    notes += chunk.toString();
  });
  const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  child.stdin.write(
    `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize })}\nnot json\n`,
  );
  await expect.poll(() => out).toContain('"id":1');
  child.stdin.end();

  expect(await once(child, "close")).toEqual([0, null]);
  expect(
    out
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { jsonrpc: string }).jsonrpc),
  ).toEqual(["2.0"]);
  expect(notes).toContain("Tools: shop::double");
});

it("reports that the engine is not connected, and fails calls at once, which do not run later", async () => {
  const own = await startTestEngine();
  const provider = connect(own.url, { name: "shop", handleSignals: false, logger: silentLogger });
  let runs = 0;
  provider.registerFunction("shop::count", () => {
    runs += 1;
    return runs;
  });
  await provider.call({ function_id: "engine::info", payload: {} });
  const args = [svcBin, "mcp", "--url", own.url, "--allow", "shop::*"];
  const transport = new StdioClientTransport({ command: process.execPath, args, stderr: "pipe" });
  let notes = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    notes += chunk.toString();
  });
  const client = await connected(transport);
  try {
    await own.stop();
    await expect.poll(() => notes).toContain("disconnected from the engine");

    expect(await client.callTool({ name: "shop__count", arguments: {} })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringContaining("disconnected: the engine is not connected") }],
    });
    expect(runs).toBe(0);
  } finally {
    await client.close();
    await provider.shutdown({ timeoutMs: 1 });
    await own.stop();
  }
});

it("serves nothing that was not allowed", async () => {
  expect(await svc(["mcp", "--url", engine.url], { cwd: process.cwd() })).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining("--allow"),
  });
  expect(await svc(["mcp", "--url", "ws://localhost:1", "--allow", "*"], { cwd: process.cwd() })).toMatchObject({
    code: 3,
    stdout: "",
  });
});

describe("svc mcp --http", () => {
  let child: ChildProcess;
  let address: { readonly url: string; readonly token: string };

  beforeAll(async () => {
    child = spawn(process.execPath, [svcBin, "mcp", "--url", engine.url, "--allow", "*", "--http", "0", "--json"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [line] = (await once(child.stdout ?? process.stdin, "data")) as [Buffer];
    address = JSON.parse(line.toString()) as typeof address;
  });
  afterAll(async () => {
    child?.kill("SIGTERM");
    if (child?.exitCode === null) await once(child, "close");
  });

  const transport = (token: string): Transport =>
    new StreamableHTTPClientTransport(new URL(address.url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }) as Transport;

  it("serves clients that have the token, each with its own session", async () => {
    const clients = await Promise.all([connected(transport(address.token)), connected(transport(address.token))]);
    let told = 0;
    for (const client of clients) {
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
        told += 1;
      });
      const { tools } = await client.listTools();
      expect(tools.map(({ title }) => title)).toEqual(expect.arrayContaining(["secret::key", "shop::order"]));
      expect(tools.filter(({ title }) => /^(?:engine|state|worker|svc)/.test(title ?? ""))).toEqual([]);
      expect(await client.callTool({ name: "shop__order", arguments: { item: "tea" } })).toMatchObject({
        structuredContent: { id: 7 },
      });
    }
    const { unregister } = worker.registerFunction("shop::later", () => "here");
    await expect.poll(() => told).toBe(2);
    unregister();
    await Promise.all(clients.map((client) => client.close()));
  });

  it("keeps a session with a call in flight when many others begin", async () => {
    const held = await connected(transport(address.token));
    const begun = new Promise<void>((resolve) => {
      onHeld = resolve;
    });
    const call = held.callTool({ name: "shop__held", arguments: {} });
    await begun;
    const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    const begin = (id: number): Promise<Response> =>
      fetch(address.url, {
        method: "POST",
        headers: {
          authorization: `Bearer ${address.token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id, method: "initialize", params: initialize }),
      });
    for (let id = 1; id <= 33; id += 1) {
      const response = await begin(id);
      expect(response.status).toBe(200);
      await response.text();
    }
    letGo?.();

    expect(await call).toMatchObject({ structuredContent: { result: "held" } });
    await held.close();
  });

  it("rejects all others: without the token, with another host name, and from pages of other sites", async () => {
    await expect(connected(transport("guess"))).rejects.toThrow();
    const statusWith = (headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const asked = request(
          address.url,
          { method: "POST", headers: { authorization: `Bearer ${address.token}`, ...headers } },
          (response) => {
            response.resume();
            resolve(response.statusCode);
          },
        );
        asked.on("error", reject).end("{}");
      });

    expect(await statusWith({ authorization: "" })).toBe(401);
    expect(await statusWith({ host: "evil.example" })).toBe(421);
    expect(await statusWith({ origin: "https://evil.example" })).toBe(403);
    const misdirected = await fetch(address.url, {
      headers: { authorization: `Bearer ${address.token}`, origin: "https://evil.example" },
    });
    expect(await misdirected.text()).toContain("may not use svc mcp");
    expect(await statusWith({ "mcp-session-id": "gone" })).toBe(404);
    // Admitted, but rejected by the protocol: no initialisation.
    expect(
      await statusWith({ "content-type": "application/json", accept: "application/json, text/event-stream" }),
    ).toBe(400);
  });
});
