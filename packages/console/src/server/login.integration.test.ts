import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningEngine, startEngine } from "@svc-runtime/engine";
import { freePorts } from "@svc-runtime/protocol/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import WebSocket from "ws";
import type { ServerMessage } from "../contract/live.ts";
import {
  type Answer,
  dataOf,
  type EngineUrls,
  errorOf,
  type TestConsole,
  type TestConsoleParts,
  testConsole,
} from "./running-console.test-support.ts";

const TOKEN = "token-of-the-production-engine";
const ROLE_TOKEN = "token-of-the-role-of-readers";
const IDLE_MS = 12 * 60 * 60 * 1000;

const PRODUCTION = `
engine:
  mode: production
  bridge:
    rbac:
      roles:
        readers: { allowed_functions: ["engine::functions::list", "engine::workers::list", "engine::info"] }
      tokens:
        - { token: ${ROLE_TOKEN}, role: readers }
workers:
  - name: svc-stream
    config:
      adapter: { name: in_memory }
`;
const DEVELOPMENT = PRODUCTION.replace("mode: production", "mode: development");

interface TestEngine extends EngineUrls {
  start(config: string): Promise<void>;
  stop(): Promise<void>;
}

const undoFile: (() => unknown)[] = [];
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(async () => {
  for (const step of undoFile.splice(0).reverse()) await step();
});

/** An engine on fixed ports, so that it can be restarted. */
async function testEngine(undoWith: (() => unknown)[]): Promise<TestEngine> {
  const folder = mkdtempSync(join(tmpdir(), "svc-console-login-"));
  undoWith.push(() => rmSync(folder, { recursive: true, force: true }));
  const { bridge, http, realtime } = await freePorts();
  let running: RunningEngine | undefined;
  const stop = async (): Promise<void> => {
    await running?.stop({ graceMs: 0 });
    running = undefined;
  };
  undoWith.push(stop);
  return {
    url: `ws://127.0.0.1:${bridge}`,
    httpUrl: `http://127.0.0.1:${http}`,
    streamsUrl: `ws://127.0.0.1:${realtime}`,
    async start(config) {
      const configFile = join(folder, "config.yaml");
      writeFileSync(configFile, config);
      running = await startEngine({
        configFile,
        env: { SVC_TOKEN: TOKEN },
        overrides: { bridgePort: bridge, httpPort: http, realtimePort: realtime },
      });
    },
    stop,
  };
}

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine(undoFile);
  await engine.start(PRODUCTION);
});

/** A console with the engine's token, as in `svc console`. */
async function consoleOf(urls: EngineUrls = engine, parts: TestConsoleParts = {}): Promise<TestConsole> {
  const served = await testConsole(urls, [], { SVC_TOKEN: TOKEN }, parts);
  undo.push(() => served.stop());
  return served;
}

/** Resolves when the console knows the engine's mode: its page has no token then. */
async function untilLoginIsRequired(served: TestConsole): Promise<void> {
  await vi.waitFor(async () => expect(await tokenInPage(served)).toBe(""), { timeout: 10_000, interval: 20 });
}

async function tokenInPage(served: TestConsole): Promise<string> {
  return /svc-page-token" content="([^"]*)"/.exec((await served.send("/")).body)?.[1] ?? "no token element";
}

function post(served: TestConsole, path: string, body: unknown, session?: string): Promise<Answer> {
  return served.send(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...(session === undefined ? {} : { "x-svc-console": session }) },
    body: JSON.stringify(body),
  });
}

async function sessionOf(served: TestConsole, token = TOKEN): Promise<string> {
  return dataOf<{ readonly session: string }>(await post(served, "/api/login", { token })).session;
}

/** Returns the open socket, or the status if it was rejected. Received messages are added to `messages`. */
function dial(served: TestConsole, token: string, messages: ServerMessage[] = []): Promise<WebSocket | number> {
  const socket = new WebSocket(`ws://127.0.0.1:${served.port}/ws/console`, [`svc.console.${token}`]);
  undo.push(() => socket.terminate());
  socket.on("message", (data) => messages.push(...(JSON.parse(data.toString()) as ServerMessage[])));
  return new Promise((resolve, reject) => {
    socket.on("open", () => resolve(socket));
    socket.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
    socket.on("error", reject);
  });
}

const CALL = { function_id: "engine::info", payload: {} };

describe("a console of an engine in production", () => {
  it("gives a local process no token and rejects its requests", async () => {
    const served = await consoleOf();
    const before = served.pageToken;
    await untilLoginIsRequired(served);
    for (const token of [undefined, "", before, TOKEN]) {
      const headers = token === undefined ? {} : { "x-svc-console": token };
      for (const path of ["/api/hello", "/api/probes"]) expect((await served.send(path, { headers })).status).toBe(401);
      for (const path of [
        "/api/call",
        "/api/export",
        "/api/import",
        "/api/http-request",
        "/api/probes",
        "/api/logout",
        "/_console/invoke",
      ]) {
        const answer = await post(served, path, CALL, token);
        expect([path, answer.status, errorOf(answer).code]).toEqual([path, 401, "login_required"]);
        expect(answer.body).not.toContain(TOKEN);
      }
      expect(await dial(served, token ?? "")).toBe(401);
    }
    const authorization = `Bearer ${TOKEN}`;
    const page = await served.send("/workers", { headers: { authorization } });
    expect(page.body).toContain('svc-page-token" content=""');
    expect(page.headers["set-cookie"]).toBeUndefined();
    expect((await served.send("/api/hello", { headers: { authorization } })).status).toBe(401);
  });

  it("accepts a login with the engine's token and sets no cookie", async () => {
    const served = await consoleOf();
    const answer = await post(served, "/api/login", { token: TOKEN });
    const { session } = dataOf<{ readonly session: string }>(answer);
    expect(session).toMatch(/^[\w-]{43}$/);
    expect(answer.headers).toMatchObject({ "cache-control": "no-store" });
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expect((await served.send("/api/hello", { headers: { "x-svc-console": session } })).status).toBe(200);
    expect(dataOf<{ readonly mode: string }>(await post(served, "/api/call", CALL, session))).toMatchObject({
      mode: "production",
    });
    expect((await post(served, "/_console/invoke", CALL, session)).status).toBe(200);
    expect(await dial(served, session)).toBeInstanceOf(WebSocket);
    expect(await tokenInPage(served)).toBe("");
  });

  it("acts with the rights of the login's token", async () => {
    const served = await consoleOf();
    const [whole, reader] = [await sessionOf(served), await sessionOf(served, ROLE_TOKEN)];
    const effective = { function_id: "engine::config::effective", payload: {} };
    expect((await post(served, "/api/call", effective, whole)).status).toBe(200);
    expect(
      (await post(served, "/api/call", { function_id: "engine::functions::list", payload: {} }, reader)).status,
    ).toBe(200);
    expect(errorOf(await post(served, "/api/call", effective, reader)).code).toBe("FORBIDDEN");
    expect((await post(served, "/_console/invoke", CALL, reader)).status).toBe(401);
  });

  it("serves lists by calls to a role whose token may not join streams, and does not report the engine as disconnected", async () => {
    const served = await consoleOf();
    const messages: ServerMessage[] = [];
    const socket = (await dial(served, await sessionOf(served, ROLE_TOKEN), messages)) as WebSocket;
    const streams = ["svc.workers", "svc.functions", "svc.triggers", "svc.logs"];
    for (const stream of streams) socket.send(JSON.stringify({ type: "subscribe", id: stream, stream, group: "all" }));
    const itemsOf = (id: string) =>
      messages.findLast((message) => message.type === "sync" && message.id === id) as
        | { readonly data: unknown[] }
        | undefined;
    const statusOf = (id: string) => messages.findLast((message) => message.type === "status" && message.id === id);
    await vi.waitFor(
      () => {
        expect(itemsOf("svc.workers")?.data).toContainEqual(
          expect.objectContaining({ name: "svc-console", principal: "role readers", internal: false }),
        );
        const ofEngine = { function_id: "engine::info", internal: true };
        expect(itemsOf("svc.functions")?.data).toContainEqual(expect.objectContaining(ofEngine));
        expect(statusOf("svc.workers")).toMatchObject({ status: "live", reason: null });
        expect(statusOf("svc.triggers")).toMatchObject({
          status: "refused",
          reason: expect.stringContaining("engine::registered-triggers::list"),
        });
        expect(statusOf("svc.logs")).toMatchObject({
          status: "refused",
          reason: "live updates need the engine's own token",
        });
      },
      { timeout: 10_000, interval: 20 },
    );
    const engines = messages.flatMap((message) =>
      message.type === "engine" || message.type === "hello" ? [message.engine] : [],
    );
    expect(engines.at(-1)).toMatchObject({ bridge: "connected", realtime: "refused", next_try_at_ms: null });
    expect(engines.filter(({ bridge, realtime }) => bridge === "disconnected" || realtime === "disconnected")).toEqual(
      [],
    );
    expect(JSON.stringify(messages)).not.toContain("SVC_TOKEN");
  });

  it("rejects a wrong token with a clear message, checks at most ten a minute, and notes it once a second", async () => {
    let nowMs = 1_000_000;
    const notes: string[] = [];
    const served = await consoleOf(engine, { now: () => nowMs, note: (line) => void notes.push(line) });
    const wrong = await post(served, "/api/login", { token: "this-is-not-the-token" });
    expect([wrong.status, errorOf(wrong).message]).toEqual([
      401,
      "the engine does not accept this token; tokens of roles work only on the listener that lists them, see --bridge-port",
    ]);
    for (let attempt = 2; attempt <= 10; attempt++)
      expect((await post(served, "/api/login", { token: "this-is-not-the-token" })).status).toBe(401);
    expect(notes).toEqual([expect.stringContaining("a login failed: the engine does not accept the token")]);
    const limited = await post(served, "/api/login", { token: ROLE_TOKEN });
    expect([limited.status, errorOf(limited).code, limited.headers["retry-after"]]).toEqual([
      429,
      "too_many_attempts",
      "6",
    ]);
    // The console's own token is checked in any case.
    expect(await sessionOf(served)).toMatch(/^[\w-]{43}$/);
    nowMs += 6_000;
    expect((await post(served, "/api/login", { token: "this-is-not-the-token" })).status).toBe(401);
    expect(notes).toHaveLength(2);
    expect(notes[1]).toContain("9 more");
    expect(notes.join()).not.toContain("this-is-not-the-token");
    nowMs += 6_000;
    expect(await sessionOf(served, ROLE_TOKEN)).toMatch(/^[\w-]{43}$/);
  });

  it("accepts the engine's token after many logins with the token of a role", async () => {
    const served = await consoleOf();
    const first = await sessionOf(served);
    for (let n = 0; n < 110; n++) await sessionOf(served, ROLE_TOKEN);
    for (const session of [first, await sessionOf(served)])
      expect((await post(served, "/api/call", CALL, session)).status).toBe(200);
  });

  it("limits the sockets of one token, but not those of others", async () => {
    const served = await consoleOf();
    const [whole, reader] = [await sessionOf(served), await sessionOf(served, ROLE_TOKEN)];
    const opened: (WebSocket | number)[] = [];
    for (let n = 0; n < 200; n++) opened.push(await dial(served, reader));
    expect(opened.filter((socket) => socket instanceof WebSocket)).toHaveLength(200);
    expect(await dial(served, await sessionOf(served, ROLE_TOKEN))).toBe(503);
    expect(await dial(served, whole)).toBeInstanceOf(WebSocket);
    const first = opened[0] as WebSocket;
    first.terminate();
    await vi.waitFor(async () => expect(await dial(served, reader)).toBeInstanceOf(WebSocket), { timeout: 20_000 });
  });

  it("rejects an invalid login and one from a page of another site", async () => {
    const served = await consoleOf();
    for (const body of [{}, { token: "" }, { token: 1 }, { token: "with blank" }, { token: "x".repeat(513) }]) {
      expect([body, (await post(served, "/api/login", body)).status]).toEqual([body, 400]);
    }
    expect((await served.send("/api/login")).status).toBe(405);
    const headers = { "content-type": "text/plain" };
    expect(
      (await served.send("/api/login", { method: "POST", headers, body: JSON.stringify({ token: TOKEN }) })).status,
    ).toBe(415);
    const origin = "https://evil.example";
    const foreign = { "content-type": "application/json", origin };
    expect(
      (await served.send("/api/login", { method: "POST", headers: foreign, body: JSON.stringify({ token: TOKEN }) }))
        .status,
    ).toBe(403);
  });

  it("ends a session after 12 hours without use, and its socket with it", async () => {
    let nowMs = 0;
    const served = await consoleOf(engine, { now: () => nowMs });
    const session = await sessionOf(served);
    const socket = (await dial(served, session)) as WebSocket;
    nowMs += IDLE_MS - 1;
    expect((await post(served, "/api/call", CALL, session)).status).toBe(200);
    nowMs += IDLE_MS - 1;
    expect((await post(served, "/api/call", CALL, session)).status).toBe(200);
    nowMs += IDLE_MS;
    const closed = once(socket, "close");
    expect(errorOf(await post(served, "/api/call", CALL, session)).code).toBe("login_required");
    expect((await closed)[0]).toBe(4401);
  });

  it("ends only the session that logs out", async () => {
    const served = await consoleOf();
    const [first, second] = [await sessionOf(served), await sessionOf(served)];
    const socket = (await dial(served, first)) as WebSocket;
    const closed = once(socket, "close");
    expect((await post(served, "/api/logout", {}, first)).status).toBe(200);
    expect((await closed)[0]).toBe(4401);
    expect((await post(served, "/api/call", CALL, first)).status).toBe(401);
    expect((await post(served, "/api/call", CALL, second)).status).toBe(200);
  });
});

describe("a console whose engine restarts", () => {
  it("in production instead of development revokes the rights of the page that it served before", async () => {
    const other = await testEngine(undo);
    await other.start(DEVELOPMENT);
    const served = await consoleOf(other);
    const called = async (): Promise<number> => (await post(served, "/api/call", CALL, served.pageToken)).status;
    await vi.waitFor(async () => expect(await called()).toBe(200), { timeout: 20_000, interval: 20 });
    const socket = (await dial(served, served.pageToken)) as WebSocket;
    const closed = once(socket, "close");
    await other.stop();
    await other.start(PRODUCTION);
    expect((await closed)[0]).toBe(4401);
    expect(errorOf(await post(served, "/api/call", CALL, served.pageToken)).code).toBe("login_required");
    expect(await tokenInPage(served)).toBe("");
  });

  it("without a token that it accepted before ends the sessions of that token", async () => {
    const other = await testEngine(undo);
    await other.start(PRODUCTION);
    const served = await consoleOf(other);
    const [whole, reader] = [await sessionOf(served), await sessionOf(served, ROLE_TOKEN)];
    const socket = (await dial(served, reader)) as WebSocket;
    const closed = once(socket, "close");
    await other.stop();
    await other.start(PRODUCTION.replace(ROLE_TOKEN, "another-token-of-the-role"));
    expect((await closed)[0]).toBe(4401);
    expect(errorOf(await post(served, "/api/call", CALL, reader)).code).toBe("login_required");
    const called = async (): Promise<number> => (await post(served, "/api/call", CALL, whole)).status;
    await vi.waitFor(async () => expect(await called()).toBe(200), { timeout: 20_000, interval: 20 });
  });

  it("reports at a login that the engine is not reachable", async () => {
    const other = await testEngine(undo);
    await other.start(PRODUCTION);
    const served = await consoleOf(other);
    await untilLoginIsRequired(served);
    await other.stop();
    const answer = await post(served, "/api/login", { token: TOKEN });
    expect([answer.status, errorOf(answer).code]).toEqual([503, "disconnected"]);
    expect(errorOf(answer).message).toContain("nothing listens there");
  });
});
