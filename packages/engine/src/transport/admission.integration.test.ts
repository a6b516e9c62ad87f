import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import type { AccessSettings, RbacSettings } from "../access/settings.ts";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine } from "../testing/in-memory-engine.ts";
import { manualClock } from "../testing/index.ts";
import { Bridge } from "./bridge.ts";
import { credentialsOf } from "./credentials.ts";
import { TokenGuard } from "./token-guard.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const TOKEN = "a-token-of-the-engine";

const rbac = (more: Partial<RbacSettings> = {}): RbacSettings => ({
  authFunctionId: "auth::check",
  exposeFunctions: [],
  onFunctionRegistrationFunctionId: undefined,
  onTriggerRegistrationFunctionId: undefined,
  onTriggerTypeRegistrationFunctionId: undefined,
  roles: [],
  tokens: [],
  ...more,
});

/** A real bridge with a real kernel, and a worker `boss` that is connected without it. */
async function site(rules: Partial<AccessSettings> = {}, options: Parameters<typeof inMemoryEngine>[0] = {}) {
  const engine: InMemoryEngine = await inMemoryEngine(options);
  undo.push(() => engine.stop());
  const settings: AccessSettings = { tokenRequired: false, rbac: rbac(), middlewareFunctionId: undefined, ...rules };
  engine.kernel.reservedIds.configure([settings]);
  const bridge = new Bridge(engine.kernel, () => ({ allowedOrigins: [], allowedHosts: [] }), {
    guard: new TokenGuard(TOKEN),
    settings: () => settings,
  });
  bridge.startServing();
  await bridge.listener.bind({ host: "127.0.0.1", port: 0 });
  undo.push(() => bridge.listener.close());
  const boss = await engine.connectWorker({ name: "boss" });
  return { engine, bridge, boss, url: `ws://127.0.0.1:${bridge.listener.port}`, port: bridge.listener.port };
}

async function serve(worker: InMemoryWorker, id: string, handle: (data: unknown) => unknown): Promise<void> {
  worker.serve(id, handle);
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
}

interface Guest {
  readonly socket: WebSocket;
  next(type: string): Promise<Record<string, unknown>>;
  say(message: Readonly<Record<string, unknown>>): void;
  call(functionId: string, data?: unknown): Promise<Record<string, unknown>>;
}

async function dial(
  url: string,
  options: ClientOptions = {},
): Promise<Guest | { readonly status: number | undefined; readonly body: string }> {
  const socket = new WebSocket(url, { handshakeTimeout: 15_000, ...options });
  undo.push(() => socket.terminate());
  const frames: Record<string, unknown>[] = [];
  socket.on("message", (data) => {
    frames.push(JSON.parse(String(data)) as Record<string, unknown>);
    socket.emit("frame");
  });
  const next = async (wanted: (frame: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> => {
    for (;;) {
      const at = frames.findIndex(wanted);
      if (at !== -1) return frames.splice(at, 1)[0] as Record<string, unknown>;
      await once(socket, "frame");
    }
  };
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("unexpected-response", async (_request, response) => {
      let body = "";
      for await (const chunk of response) body += String(chunk);
      resolve({ status: response.statusCode, body });
    });
    const say = (message: Readonly<Record<string, unknown>>): void => socket.send(JSON.stringify(message));
    socket.once("open", () =>
      resolve({
        socket,
        say,
        next: (type) => next((frame) => frame.type === type),
        async call(functionId, data = null) {
          const id = crypto.randomUUID();
          say({ type: "invokefunction", invocation_id: id, function_id: functionId, data });
          return next((frame) => frame.invocation_id === id);
        },
      }),
    );
  });
}

describe("an auth function (gap 56)", () => {
  it("is asked before the WebSocket stands, with headers, decoded query and address, and its answer holds", async () => {
    const { boss, url } = await site();
    const asked: unknown[] = [];
    await serve(boss, "auth::check", (data) => {
      asked.push(data);
      return { allowed_functions: ["hello"], function_registration_prefix: "acme" };
    });
    await serve(boss, "hello", () => "hi");
    const guest = (await dial(`${url}/?team=a%26b&team=c+d&__proto__=x&%F0%9F%90=bad&empty`, {
      headers: { authorization: "Custom abc", "x-tenant": "7" },
    })) as Guest;
    expect(asked).toHaveLength(1);
    const [question] = asked as [
      { headers: Record<string, string>; query_params: Record<string, string[]>; ip_address: string },
    ];
    expect(question.headers).toMatchObject({ authorization: "Custom abc", "x-tenant": "7" });
    expect(Object.entries(question.query_params)).toEqual(
      expect.arrayContaining([
        ["team", ["a&b", "c d"]],
        ["__proto__", ["x"]],
        ["empty", [""]],
      ]),
    );
    expect(question.ip_address).toBe("127.0.0.1");
    expect(await guest.call("hello")).toMatchObject({ result: "hi" });
    expect(await guest.call("auth::check")).toMatchObject({ error: { code: "FORBIDDEN" } });
    guest.say({ type: "registerfunction", id: "mine" });
    guest.say({ type: "ping" });
    await guest.next("pong");
    expect(boss.id).toBeTruthy();
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("who are you");
      },
      "who are you",
    ],
    ["answers nothing", () => null, "auth function returned no result"],
    ["answers something else", () => ({ allowed_functions: "all" }), "invalid result"],
  ])("that %s refuses the upgrade with 401, on /otel too", async (_what, answer, message) => {
    const { boss, url, engine } = await site();
    await serve(boss, "auth::check", answer);
    for (const path of ["/", "/otel"]) {
      expect(await dial(url + path)).toMatchObject({ status: 401, body: expect.stringContaining("AUTH_ERROR") });
      expect(await dial(url + path)).toMatchObject({ status: 401, body: expect.stringContaining(message) });
    }
    expect(engine.logs.filter(({ message: text }) => text === "a connection was refused").length).toBe(4);
    expect(engine.kernel.sessions.size).toBe(1);
  });

  it("that is missing lets nobody in (503), but for holders of the engine's token, one of whom may bring it", async () => {
    const { url } = await site();
    expect(await dial(url)).toMatchObject({ status: 503, body: expect.stringContaining("function_not_found") });
    const holder = (await dial(url, { headers: { authorization: `Bearer ${TOKEN}` } })) as Guest;
    holder.say({ type: "registerfunction", id: "auth::check" });
    holder.say({ type: "ping" });
    await holder.next("pong");
    const pending = dial(url);
    const call = await holder.next("invokefunction");
    holder.say({ type: "invocationresult", invocation_id: call.invocation_id, function_id: "auth::check", result: {} });
    expect(await pending).toHaveProperty("socket");
  });

  it("that does not answer within 5 s refuses with 503", async () => {
    const clock = manualClock();
    const { boss, url } = await site({}, { clock });
    boss.say({ type: "registerfunction", id: "auth::check" });
    boss.say({ type: "ping" });
    await boss.next((frame) => frame.type === "pong");
    const pending = dial(url);
    await boss.next((frame) => frame.function_id === "auth::check");
    clock.advance(5_100);
    expect(await pending).toMatchObject({ status: 503, body: expect.stringContaining("call_timeout") });
  });

  it("is told when the client goes while it decides, and 256 handshakes wait at most", async () => {
    const { boss, url, port } = await site();
    boss.say({ type: "registerfunction", id: "auth::check" });
    const upgrade = `GET / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
    const sockets = Array.from({ length: 256 }, () => {
      const socket = connectTcp(port, "127.0.0.1");
      undo.push(() => socket.destroy());
      socket.on("error", () => {});
      socket.write(upgrade);
      return socket;
    });
    for (let count = 0; count < 256; count++) await boss.next((frame) => frame.type === "invokefunction");
    expect(await dial(url)).toMatchObject({ status: 503, body: expect.stringContaining("overloaded") });
    sockets[0]?.destroy();
    await boss.next((frame) => frame.type === "cancelinvocation");
    const late = dial(url);
    const call = await boss.next((frame) => frame.type === "invokefunction");
    boss.say({ type: "invocationresult", invocation_id: call.invocation_id, function_id: "auth::check", result: {} });
    expect(await late).toHaveProperty("socket");
  });
});

describe("tokens with roles", () => {
  const roles = rbac({
    authFunctionId: undefined,
    exposeFunctions: ["match('public::*')"],
    roles: [
      {
        name: "clerk",
        allowedFunctions: ["orders::*"],
        forbiddenFunctions: ["orders::delete"],
        allowedTriggerTypes: undefined,
        allowTriggerTypeRegistration: false,
        allowFunctionRegistration: true,
        functionRegistrationPrefix: "clerk",
        context: {},
        admin: false,
      },
    ],
    tokens: [{ token: "token-of-a-clerk-1", role: "clerk" }],
  });

  it("give their holders the role, strangers the public functions, and wrong ones nothing", async () => {
    const { boss, url, engine } = await site({ rbac: roles });
    for (const id of ["orders::get", "orders::delete", "public::ping"]) await serve(boss, id, () => id);
    const clerk = (await dial(url, { headers: { authorization: "Bearer token-of-a-clerk-1" } })) as Guest;
    expect(await clerk.call("orders::get")).toMatchObject({ result: "orders::get" });
    expect(await clerk.call("orders::delete")).toMatchObject({ error: { code: "FORBIDDEN" } });
    clerk.say({ type: "registerfunction", id: "print" });
    clerk.say({ type: "ping" });
    await clerk.next("pong");
    expect(engine.directory.functionById("clerk::print")).toBeDefined();
    const stranger = (await dial(url)) as Guest;
    expect(await stranger.call("public::ping")).toMatchObject({ result: "public::ping" });
    expect(await stranger.call("orders::get")).toMatchObject({ error: { code: "FORBIDDEN" } });
    // The role's prefix stays reserved, also while none of its holders is connected.
    clerk.socket.terminate();
    stranger.say({ type: "registerfunction", id: "clerk::print" });
    expect(await stranger.next("error")).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect(await dial(url, { headers: { authorization: "Bearer token-of-a-clerk-2" } })).toMatchObject({
      status: 401,
      body: expect.stringContaining("the token is neither the engine's nor that of a role of this listener") as string,
    });
  });

  it("are enough where a token is required; without one nobody gets in", async () => {
    const { url } = await site({ rbac: roles, tokenRequired: true });
    expect(await dial(url)).toMatchObject({ status: 401 });
    expect(await dial(url.replace("://", "://clerk:token-of-a-clerk-1@"))).toHaveProperty("socket");
  });
});

describe("credentials", () => {
  it.each([
    [{}, { kind: "none" }],
    [{ authorization: "Bearer abc" }, { kind: "token", token: "abc" }],
    [{ authorization: "bearer  abc " }, { kind: "token", token: "abc" }],
    [{ authorization: `Basic ${btoa("user:a:b")}` }, { kind: "token", token: "a:b" }],
    [{ authorization: `Basic ${btoa("no colon")}` }, { kind: "unreadable" }],
    [{ authorization: "Bearer a b" }, { kind: "unreadable" }],
    [{ authorization: "Bearer" }, { kind: "unreadable" }],
    [{ authorization: "" }, { kind: "unreadable" }],
    [{ authorization: "Negotiate abc" }, { kind: "unreadable" }],
    [{ "sec-websocket-protocol": "svc, svc.token.YWJj" }, { kind: "token", token: "abc" }],
    [{ "sec-websocket-protocol": "svc, svc.token.a=" }, { kind: "unreadable" }],
    [{ "sec-websocket-protocol": "graphql-ws" }, { kind: "none" }],
    [{ cookie: "svc.token=abc" }, { kind: "none" }],
  ])("in %j are %j", (headers, credentials) => {
    expect(credentialsOf({ headers })).toEqual(credentials);
  });
});
