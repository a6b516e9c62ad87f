import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { type ChannelReader, type ChannelWriter, connect, type Worker } from "@svc-runtime/sdk";
import type { connect as connectPage } from "@svc-runtime/sdk/browser";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { startBrowser } from "./support/browser.ts";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";
import { type PageServer, servePage } from "./support/pages.ts";

/** Globals of the code inside the page. */
declare const svc: { readonly connect: typeof connectPage };
declare let page: ReturnType<typeof connectPage>;
declare let end: ChannelReader;

const project = mkdtempSync(join(tmpdir(), "svc-browser-"));
let ports: Ports;
let engine: EngineProcess;
let worker: Worker;
let allowed: PageServer;
let stranger: PageServer;
let browser: Browser;
let tab: Page;
let address: string;

beforeAll(async () => {
  [ports, allowed, stranger, browser] = await Promise.all([freePorts(), servePage(), servePage(), startBrowser()]);
  writeFileSync(join(project, "config.yaml"), `engine:\n  allowed_origins: ["${allowed.origin}"]\nworkers: []\n`);
  engine = await startEngine({ cwd: project, ports });
  address = `ws://localhost:${ports.bridge}`;
  worker = connect(address, { name: "server side", handleSignals: false });
  await worker.connected();
  tab = await browser.newPage();
  await tab.goto(`${allowed.origin}/`);
  await tab.evaluate(async (url) => {
    page = svc.connect(url, { name: "the page" });
    await page.connected();
  }, address);
});

afterAll(async () => {
  await browser?.close();
  await Promise.all([allowed?.stop(), stranger?.stop(), worker?.shutdown({ timeoutMs: 1 })]);
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
});

describe("a page of an allowed origin", () => {
  it("calls the engine's functions and a worker's, and receives errors with their code", async () => {
    worker.registerFunction("greet", ({ name }: { name: string }) => `hello ${name}`);
    await worker.call({ function_id: "engine::info", payload: {} });
    const answers = await tab.evaluate(async () => {
      const info = await page.call<{ version: string }>({ function_id: "engine::info", payload: {} });
      const greeting = await page.call({ function_id: "greet", payload: { name: "page" } });
      const missing = await page.call({ function_id: "nobody::has" }).catch((error: { code: string }) => error.code);
      return { version: info.version, greeting, missing };
    });
    expect(answers).toEqual({
      version: expect.stringMatching(/^\d/),
      greeting: "hello page",
      missing: "function_not_found",
    });
  });

  it("provides functions itself", async () => {
    await tab.evaluate(async () => {
      page.registerFunction(
        "page::title",
        () => (globalThis as unknown as { document: { title: string } }).document.title,
      );
      await page.call({ function_id: "engine::info", payload: {} });
    });
    expect(await worker.call({ function_id: "page::title" })).toBe("page");
  });

  it("reads a channel that a worker writes, and writes one that a worker reads", async () => {
    const total = 5_000_000;
    worker.registerFunction(
      "echo::stream",
      async ({ input, output }: { input: ChannelReader; output: ChannelWriter }) => {
        for await (const item of input) await (typeof item === "string" ? output.send(item) : output.write(item));
        await output.end();
      },
    );
    await worker.call({ function_id: "engine::info", payload: {} });
    const seen = await tab.evaluate(async (bytes) => {
      const [up, down] = [await page.createChannel(), await page.createChannel()];
      const call = page.call({ function_id: "echo::stream", payload: { input: up.reader, output: down.writer } });
      const sum = { texts: [] as string[], bytes: 0, wrong: 0 };
      const reading = (async () => {
        for await (const item of down.reader) {
          if (typeof item === "string") sum.texts.push(item);
          else {
            sum.bytes += item.length;
            for (const byte of item) if (byte !== 7) sum.wrong++;
          }
        }
      })();
      await up.writer.send("first");
      const data = new Uint8Array(bytes).fill(7);
      for (let at = 0; at < bytes; at += 1_000_000) await up.writer.write(data.subarray(at, at + 1_000_000));
      await up.writer.send("last");
      await up.writer.end();
      await Promise.all([reading, call]);
      return sum;
    }, total);
    expect(seen).toEqual({ texts: ["first", "last"], bytes: total, wrong: 0 });
  });

  it("detects an aborted channel, and aborts one itself", async () => {
    const { writer, readerRef } = await worker.createChannel();
    await writer.send("half");
    const first = await tab.evaluate(async (ref) => {
      end = page.openChannel(ref);
      return end.read();
    }, readerRef);
    expect(first).toBe("half");
    writer.abort();
    expect(await tab.evaluate(() => end.read().catch((thrown: { code: string }) => thrown.code))).toBe(
      "channel_closed",
    );

    const other = await worker.createChannel();
    await tab.evaluate(async (ref) => {
      const writing = page.openChannel(ref);
      await writing.send("half");
      writing.abort();
    }, other.writerRef);
    expect(await other.reader.read()).toBe("half");
    await expect(other.reader.read()).rejects.toMatchObject({ code: "channel_closed" });
  });
});

describe("parts of the SDK", () => {
  it("are loaded at their first use, and a part that cannot be loaded fails the call with part_not_loaded", async () => {
    const other = await browser.newPage();
    const loaded: string[] = [];
    await other.route("**/parts/*", (route) => {
      loaded.push(new URL(route.request().url()).pathname);
      return loaded.length === 1 ? route.abort() : route.continue();
    });
    await other.goto(`${allowed.origin}/`);
    const { readerRef, writer } = await worker.createChannel();
    const sent = writer.send("here").then(() => writer.end());
    const code = await other.evaluate(
      async ([url, ref]) => {
        page = svc.connect(url, { name: "parts" });
        await page.connected();
        await page.call({ function_id: "engine::info", payload: {} });
        return page
          .openChannel(ref)
          .read()
          .catch((error: { code: string }) => error.code);
      },
      [address, readerRef] as const,
    );
    expect(code).toBe("part_not_loaded");
    expect(loaded).toEqual(["/parts/browser-channels.js"]);
    // Another page has no failed load in its memory.
    await other.reload();
    const read = await other.evaluate(
      async ([url, ref]) => {
        page = svc.connect(url, { name: "parts" });
        const text = await page.openChannel(ref).text();
        const json = await page.callJson({ function_id: "engine::info", payload: "{}" });
        page.registerFunction("parts::f", () => "handled");
        const handled = await page.call({ function_id: "parts::f" });
        await page.shutdown();
        return [text, json.startsWith("{"), handled];
      },
      [address, readerRef] as const,
    );
    await sent;
    expect(read).toEqual(["here", true, "handled"]);
    expect(loaded.slice(1).toSorted()).toEqual(
      expect.arrayContaining(["/parts/browser-channels.js", "/parts/provider.js"]),
    );
    await other.close();
  });
});

describe("a token", () => {
  it("is offered by a real browser as a subprotocol, and the connection opens if `svc` is selected", async () => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    const connection = once(server, "connection") as Promise<[WebSocket, { headers: Record<string, string> }]>;
    const url = `ws://localhost:${(server.address() as AddressInfo).port}`;
    const connected = tab.evaluate(async (at) => {
      const guest = svc.connect(at, { token: "sécret/+" });
      await guest.connected();
      await guest.shutdown({ timeoutMs: 1 });
      return guest.connectionState;
    }, url);
    const [socket, request] = await connection;
    socket.send(JSON.stringify({ type: "workerregistered", worker_id: "w" }));
    expect(request.headers["sec-websocket-protocol"]).toBe("svc, svc.token.c8OpY3JldC8r");
    expect(request.headers.authorization).toBeUndefined();
    expect(await connected).toBe("closed");
    await new Promise((resolve) => server.close(resolve));
  });

  it("admits a page if the engine requires one, channels included, and rejects a page without it", async () => {
    const [otherPorts, otherProject] = [await freePorts(), mkdtempSync(join(tmpdir(), "svc-browser-token-"))];
    writeFileSync(
      join(otherProject, "config.yaml"),
      `engine:\n  mode: production\n  allowed_origins: ["${allowed.origin}"]\nworkers: []\n`,
    );
    const strict = await startEngine({ cwd: otherProject, ports: otherPorts });
    const token = readFileSync(join(otherProject, ".svc/token"), "utf8").trim();
    const outcomes = await tab.evaluate(
      async ([url, secret]) => {
        const outcome = async (address: string, options: { token?: string }): Promise<string> => {
          const guest = svc.connect(address, { reconnect: { maxAttempts: 0 }, ...options });
          try {
            const { reader, writer } = await guest.createChannel();
            await writer.send("through a channel");
            return String(await reader.read());
          } catch (error) {
            return (error as { code: string }).code;
          } finally {
            await guest.shutdown({ timeoutMs: 1 });
          }
        };
        return [
          await outcome(url, { token: secret }),
          await outcome(url.replace("ws://", `ws://svc:${secret}@`), {}),
          await outcome(url, {}),
          await outcome(url, { token: "guessed" }),
        ];
      },
      [`ws://localhost:${otherPorts.bridge}`, token] as const,
    );
    expect(outcomes).toEqual(["through a channel", "through a channel", "disconnected", "disconnected"]);
    strict.child.kill("SIGTERM");
    await strict.exited;
    rmSync(otherProject, { recursive: true, force: true });
  });
});

describe("a page of any other origin", () => {
  it("is refused (W1)", async () => {
    const other = await browser.newPage();
    await other.goto(`${stranger.origin}/`);
    const outcome = await other.evaluate(async (url) => {
      const guest = svc.connect(url, { name: "stranger", reconnect: { maxAttempts: 0 } });
      const error = await guest.connected().catch((thrown: { code: string }) => thrown.code);
      return [error, guest.connectionState];
    }, address);
    expect(outcome).toEqual(["disconnected", "failed"]);
    await other.close();
  });
});
