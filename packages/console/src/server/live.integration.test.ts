import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import WebSocket from "ws";
import type { EngineState, ServerMessage } from "../contract/live.ts";
import { type RestartableEngine, restartableEngine } from "./engine-process.test-support.ts";
import { dataOf, type EngineUrls, errorOf, type TestConsole, testConsole } from "./running-console.test-support.ts";

const undo: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of undo.splice(0).reverse()) await close();
});

async function consoleOf(engine: EngineUrls): Promise<TestConsole> {
  const served = await testConsole(engine);
  undo.push(() => served.stop());
  return served;
}

/** The socket of a page, with its messages in order. */
class PageSocket {
  readonly messages: ServerMessage[] = [];
  readonly frameTimesMs: number[] = [];
  readonly socket: WebSocket;

  constructor(served: TestConsole) {
    this.socket = new WebSocket(`ws://127.0.0.1:${served.port}/ws/console`, [`svc.console.${served.pageToken}`]);
    this.socket.on("message", (data) => {
      this.frameTimesMs.push(performance.now());
      this.messages.push(...(JSON.parse(data.toString()) as ServerMessage[]));
    });
    undo.push(() => this.socket.terminate());
  }

  send(message: unknown): void {
    this.socket.send(JSON.stringify(message));
  }

  subscribe(id: string, stream: string, group: string): void {
    this.send({ type: "subscribe", id, stream, group });
  }

  of<Type extends ServerMessage["type"]>(type: Type, id?: string): Extract<ServerMessage, { readonly type: Type }>[] {
    return this.messages.filter(
      (message) => message.type === type && (id === undefined || ("id" in message && message.id === id)),
    ) as never;
  }

  get engine(): EngineState | undefined {
    return this.messages.findLast((message) => message.type === "engine" || message.type === "hello")?.engine;
  }

  until(check: (page: PageSocket) => void): Promise<void> {
    return vi.waitFor(() => check(this), { timeout: 20_000, interval: 20 });
  }

  untilLive(): Promise<void> {
    return this.until(({ engine }) => expect(engine).toMatchObject({ bridge: "connected", realtime: "connected" }));
  }
}

async function pageOf(served: TestConsole): Promise<PageSocket> {
  const page = new PageSocket(served);
  await once(page.socket, "open");
  return page;
}

describe("an engine that starts and stops", () => {
  it("is not running at first: each port is reported with the reason and the next attempt, and connects later", async () => {
    const engine = await restartableEngine();
    undo.push(() => engine.remove());
    const served = await consoleOf(engine);
    const page = await pageOf(served);
    await page.until(({ engine: state }) => {
      expect(state).toMatchObject({
        bridge: "disconnected",
        realtime: "disconnected",
        instance_id: null,
        version: null,
      });
      expect(state?.reason).toBe("SDK bridge: nothing listens there; WebSocket server: nothing listens there");
      expect(Math.abs((state?.next_try_at_ms ?? 0) - Date.now())).toBeLessThan(10_000);
    });
    page.subscribe("w", "svc.workers", "all");
    await engine.start();
    await page.untilLive();
    expect(page.engine).toMatchObject({
      reason: null,
      next_try_at_ms: null,
      version: expect.any(String),
      instance_id: expect.any(String),
    });
    await page.until(() => expect(page.of("sync", "w")).toHaveLength(1));
  });

  it("is killed and restarted: reported at once, calls fail meanwhile, and it has another id afterwards", async () => {
    const engine = await restartableEngine();
    undo.push(() => engine.remove());
    await engine.start();
    const served = await consoleOf(engine);
    const page = await pageOf(served);
    page.subscribe("w", "svc.workers", "all");
    await page.untilLive();
    await page.until(() => expect(page.of("sync", "w")).toHaveLength(1));
    const before = page.engine?.instance_id;
    await engine.stop();
    await page.until(({ engine: state }) =>
      expect(state).toMatchObject({ bridge: "disconnected", realtime: "disconnected" }),
    );
    expect(page.engine?.reason).toMatch(/^SDK bridge: /);
    expect(errorOf(await served.ask("/api/call", { function_id: "engine::info" })).code).toBe("disconnected");
    await engine.start();
    await page.untilLive();
    expect(page.engine?.instance_id).not.toBe(before);
    // Never the old id together with a connection to the new engine.
    for (const { engine: state } of page
      .of("engine")
      .slice(page.of("engine").findIndex(({ engine: each }) => each.bridge === "disconnected"))) {
      expect(state.bridge === "connected" && state.instance_id === before).toBe(false);
    }
    await page.until(() => expect(page.of("sync", "w")).toHaveLength(2));
    expect(page.of("status", "w").map(({ status }) => status)).toEqual(["live", "refused", "joining", "live"]);
  });

  it("listens on only one of the two ports: the other one is reported", async () => {
    const engine = await restartableEngine();
    undo.push(() => engine.remove());
    await engine.start();
    const page = await pageOf(await consoleOf({ ...engine, streamsUrl: "ws://127.0.0.1:1" }));
    await page.until(({ engine: state }) =>
      expect(state).toMatchObject({
        bridge: "connected",
        realtime: "disconnected",
        reason: "WebSocket server: nothing listens there",
      }),
    );
  });
});

describe("pages that watch", () => {
  let engine: RestartableEngine;
  let worker: Worker;
  let group = 0;
  const room = (): string => `room-${++group}`;
  const set = (groupId: string, id: string, data: unknown) => worker.stream.set("chat", groupId, id, data);
  const subscribers = async (groupId: string): Promise<number> => {
    const { streams } = await worker.call<{
      streams: { name: string; groups: { group_id: string; subscribers: number }[] }[];
    }>({
      function_id: "engine::streams::list",
      payload: {},
    });
    return streams.flatMap(({ groups }) => groups).find(({ group_id: each }) => each === groupId)?.subscribers ?? 0;
  };

  beforeAll(async () => {
    engine = await restartableEngine();
    await engine.start();
    worker = connect(engine.url, { name: "chat", logger: silentLogger, handleSignals: false });
    await worker.connected();
  });
  afterAll(async () => {
    await worker?.shutdown();
    await engine?.remove();
  });

  it("one group receive the same, whenever they joined; the engine is joined once", async () => {
    const served = await consoleOf(engine);
    const groupId = room();
    await set(groupId, "1", { n: 1 });
    const pages: PageSocket[] = [];
    for (let count = 1; count <= 3; count++) {
      const page = await pageOf(served);
      pages.push(page);
      page.subscribe("c", "chat", groupId);
      await page.until(() => expect(page.of("sync", "c")).toHaveLength(1));
      await set(groupId, `after-${count}`, { count });
    }
    await set(groupId, "last", {});
    for (const [at, page] of pages.entries()) {
      await page.until(() => expect(page.of("event", "c").at(-1)?.event.id).toBe("last"));
      // Each item once, in the sync or as an event.
      const ids = [...(page.of("sync", "c")[0]?.ids ?? []), ...page.of("event", "c").map(({ event }) => event.id)];
      expect([at, ids]).toEqual([at, ["1", "after-1", "after-2", "after-3", "last"]]);
      expect(page.of("status", "c").at(-1)?.status).toBe("live");
    }
    await expect.poll(() => subscribers(groupId)).toBe(1);
    for (const page of pages.slice(1)) page.socket.close();
    await Promise.all(pages.slice(1).map(({ socket }) => once(socket, "close")));
    await set(groupId, "later", {});
    await pages[0]?.until((page) => expect(page.of("event", "c").at(-1)?.event.id).toBe("later"));
    pages[0]?.send({ type: "unsubscribe", id: "c" });
    await expect.poll(() => subscribers(groupId)).toBe(0);
  });

  it("receive at most ten frames a second", async () => {
    const served = await consoleOf(engine);
    const groupId = room();
    const page = await pageOf(served);
    page.subscribe("c", "chat", groupId);
    await page.until(() => expect(page.of("sync", "c")).toHaveLength(1));
    const framesBefore = page.frameTimesMs.length;
    const startedMs = performance.now();
    for (let at = 0; at < 300; at++) await set(groupId, `${at}`, at);
    await page.until(() => expect(page.of("event", "c")).toHaveLength(300));
    const seconds = (performance.now() - startedMs) / 1000;
    expect(page.frameTimesMs.length - framesBefore).toBeLessThanOrEqual(Math.ceil(seconds * 10) + 1);
    expect(page.of("event", "c").map(({ event }) => event.data)).toEqual(Array.from({ length: 300 }, (_, at) => at));
  });

  it("but do not read lose events, get their number, and get a sync when they read again", {
    timeout: 60_000,
  }, async () => {
    const served = await consoleOf(engine);
    const groupId = room();
    const page = await pageOf(served);
    page.subscribe("c", "chat", groupId);
    await page.until(() => expect(page.of("sync", "c")).toHaveLength(1));
    page.socket.pause();
    // More than the system's buffers and the console's limit, also when it is compressed.
    const body = randomBytes(384 * 1024).toString("base64");
    const sent = 60;
    for (let at = 0; at < sent; at++) await set(groupId, "item", { at, body });
    page.socket.resume();
    await page.until(() => expect(page.of("sync", "c")).toHaveLength(2));
    const dropped = page.of("gap", "c").reduce((sum, gap) => sum + (gap.dropped ?? 0), 0);
    expect(dropped).toBeGreaterThan(0);
    expect(page.of("gap", "c")[0]).toMatchObject({ reason: "overflow" });
    expect(page.of("event", "c").length + dropped).toBe(sent);
    expect(page.of("sync", "c").at(-1)?.data).toMatchObject([{ at: sent - 1 }]);
    await set(groupId, "item", { at: "after" });
    await page.until(() => expect(page.of("event", "c").at(-1)?.event.data).toEqual({ at: "after" }));
  });

  it("can join at most 80 groups", async () => {
    const page = await pageOf(await consoleOf(engine));
    await page.untilLive();
    for (let at = 0; at <= 80; at++) page.subscribe(`t${at}`, "chat", `many-${at}`);
    await page.until(() =>
      expect(page.of("status", "t80")[0]).toMatchObject({
        status: "refused",
        reason: "a page can join at most 80 groups",
      }),
    );
    await page.until(() => expect(page.of("sync")).toHaveLength(80));
  });

  it("a group with an invalid name are rejected", async () => {
    const page = await pageOf(await consoleOf(engine));
    page.subscribe("bad", "chat\u0000", "x");
    await page.until(() => expect(page.of("status", "bad")[0]?.status).toBe("refused"));
    page.send({ type: "ping", t: 7 });
    await page.until(() => expect(page.of("pong")).toEqual([{ type: "pong", t: 7 }]));
  });

  it("receive the id of the console's run, so that they notice a restart", async () => {
    const served = await consoleOf(engine);
    const page = await pageOf(served);
    await page.until(() => expect(page.of("hello")).toHaveLength(1));
    const hello = dataOf(await served.ask("/api/hello"));
    expect(page.of("hello")[0]?.instance_id).toBe(hello.console_instance_id);
  });
});
