// A stream client that sends what no library sends (section 1.4 of the threat model).
import { readFileSync } from "node:fs";
import { join as joinPath } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Client } from "./support/client.ts";
import { type Site, startSite } from "./support/site.ts";

interface Message {
  readonly type: string;
  readonly streamName?: string;
  readonly groupId?: string;
  readonly id?: string | null;
  readonly event?: { readonly type: string; readonly data?: unknown; readonly event?: { readonly type: string } };
  readonly data?: Readonly<Record<string, unknown>>;
}

interface StreamSocket {
  readonly socket: WebSocket;
  readonly messages: readonly Message[];
  say(message: unknown): void;
  join(streamName: unknown, groupId: unknown, more?: object): void;
  /** Resolves with the first matching message, past or future. */
  next(wanted: (message: Message) => boolean): Promise<Message>;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
}

let site: Site;
let owner: Client;
let watcher: StreamSocket;
let engineToken: string;
const sockets: WebSocket[] = [];
/** Groups whose join the owner's function was called for. */
const asked: unknown[] = [];

beforeAll(async () => {
  site = await startSite(
    ({ restricted }) => `
engine:
  bridges:
    - { port: ${restricted}, rbac: { roles: { guest: {} }, tokens: [{ token: token-of-the-guest-role, role: guest }] } }
workers:
  - name: svc-state
  - name: svc-stream
    config:
      auth_function: clients::authenticate
      guarded_streams: ["rooms*", "vault"]
`,
  );
  owner = site.owner;
  engineToken = readFileSync(joinPath(site.folder, ".svc", "token"), "utf8").trim();
  await owner.serve("clients::authenticate", (data) => {
    const key = (data as { query_params: Record<string, string[]> }).query_params.key?.[0];
    if (key === "throws") throw new Error("the key table is at /home/owner/keys");
    if (key === "nothing") return null;
    if (key === "odd") return { context: {}, error: "unknown key" };
    if (key === "forbidden") return { unauthorized: true };
    if (key !== "ada" && key !== "eve") return "no";
    return { context: { user: key } };
  });
  await owner.serve("rooms::may_join", (data) => {
    const { group_id, context } = data as { group_id: string; context: { user: string } };
    asked.push(group_id);
    return { unauthorized: group_id !== context.user };
  });
  expect(await owner.bind("stream:join", "rooms::may_join", { stream_name: "rooms" })).toMatchObject({
    status: "active",
  });
  for (const group_id of ["ada", "eve"]) {
    await owner.result("stream::set", { stream_name: "rooms", group_id, item_id: "card", data: `card of ${group_id}` });
  }
  await owner.result("stream::set", { stream_name: "vault", group_id: "ada", item_id: "card", data: "card of ada" });
  watcher = await open("?key=ada");
  watcher.join("rooms", "ada");
  await watcher.next(({ event }) => event?.type === "sync");
});
afterAll(async () => {
  watcher?.socket.terminate();
  await site?.stop();
});

let written = 0;
/** The control of every test: another client receives each event, and a new client may join permitted groups. */
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  const data = `control ${++written}`;
  await owner.result("stream::set", { stream_name: "rooms", group_id: "ada", item_id: "control", data });
  await watcher.next(({ event }) => event?.data === data);
  const ada = await opened("?key=ada");
  ada.join("rooms", "ada");
  expect((await ada.next(({ event }) => event?.type === "sync")).event?.data).toContain("card of ada");
  ada.socket.terminate();
});

/** Opens a socket. The engine may still close it, since it identifies the client after the handshake. */
async function open(
  target: string,
  options: { readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<StreamSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${site.ports.realtime}/${target}`, options);
  const messages: Message[] = [];
  const looks = new Set<() => void>();
  socket.on("message", (text) => {
    messages.push(JSON.parse(String(text)) as Message);
    for (const look of [...looks]) look();
  });
  const closed = new Promise<number>((resolve) => void socket.once("close", resolve));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  socket.on("error", () => {});
  const say = (message: unknown): void =>
    socket.send(typeof message === "string" || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  return {
    socket,
    messages,
    closed,
    say,
    join: (streamName, groupId, more = {}) =>
      say({ type: "join", data: { subscriptionId: "s", streamName, groupId, ...more } }),
    next: (wanted) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = messages.find(wanted);
          if (found === undefined) return;
          looks.delete(look);
          resolve(found);
        };
        looks.add(look);
        look();
        void closed.then((code) => reject(new Error(`closed with ${code} after ${JSON.stringify(messages)}`)));
      }),
  };
}

/** Opens a socket that is terminated after the test. */
async function opened(
  target: string,
  options: { readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<StreamSocket> {
  const stream = await open(target, options);
  sockets.push(stream.socket);
  return stream;
}

/** A client that sent hello is notified of each refusal. */
async function extended(key: string): Promise<StreamSocket> {
  const stream = await opened(`?key=${key}`);
  stream.say({ type: "hello", data: { version: 1 } });
  await stream.next(({ type }) => type === "welcome");
  return stream;
}

let subscriptions = 0;
/** Resolves with the code of the refusal of a join, or `joined`. */
async function joinCode(
  stream: StreamSocket,
  streamName: unknown,
  groupId: unknown,
  more: object = {},
): Promise<unknown> {
  const subscriptionId = `join ${++subscriptions}`;
  stream.join(streamName, groupId, { subscriptionId, ...more });
  const { type, data } = await stream.next((message) => message.data?.subscriptionId === subscriptionId);
  return type === "error" ? data?.code : type;
}

async function subscribers(group: string): Promise<number | undefined> {
  type Streams = { streams: { name: string; groups: { group_id: string; subscribers: number }[] }[] };
  const { streams } = (await owner.result("engine::streams::list")) as Streams;
  return streams.find(({ name }) => name === "rooms")?.groups.find(({ group_id }) => group_id === group)?.subscribers;
}

describe("a client that the auth function does not know", () => {
  it("is closed before it gets anything, whatever it sends meanwhile", async () => {
    for (const [key, code] of [
      ["", 4401],
      ["mallory", 4401],
      ["throws", 4401],
      ["nothing", 4401],
      ["odd", 4401],
      ["forbidden", 4403],
    ] as const) {
      const stream = await opened(`?key=${key}`);
      stream.join("rooms", "ada");
      stream.join("svc.functions", "all");
      expect([key, await stream.closed, stream.messages]).toEqual([key, code, []]);
      const byPath = await opened(`stream/rooms/ada?key=${key}`);
      expect([key, await byPath.closed, byPath.messages]).toEqual([key, code, []]);
    }
  });

  it("is refused with a wrong token, and a token in the query string is no credential", async () => {
    for (const token of ["a-wrong-token-of-some-length", "token-of-the-guest-role"]) {
      // If there is an auth function, it decides about the credentials of clients.
      expect([token, await (await opened("", { headers: { authorization: `Bearer ${token}` } })).closed]).toEqual([
        token,
        4401,
      ]);
    }
    for (const query of [`?token=${engineToken}`, `?access_token=${engineToken}`, `?key=${engineToken}`]) {
      expect(await (await opened(query)).closed).toBe(4401);
    }
    // The auth function is not called for the engine's token.
    const trusted = await opened("", { headers: { authorization: `Bearer ${engineToken}` } });
    trusted.join("svc.workers", "all");
    expect(await trusted.next(({ event }) => event?.type === "sync")).toMatchObject({ streamName: "svc.workers" });
    expect(site.engine.output()).not.toContain(engineToken);
  });
});

describe("a client that is let in", () => {
  it("does not join other groups, guarded streams without a trigger, or streams of the engine", async () => {
    const eve = await extended("eve");
    for (const [streamName, groupId, code] of [
      ["rooms", "ada", "FORBIDDEN"],
      ["rooms2", "ada", "FORBIDDEN"],
      ["vault", "ada", "FORBIDDEN"],
      ["svc.functions", "all", "FORBIDDEN"],
      ["svc.stream.messages", "all", "FORBIDDEN"],
      ["svc.not-there", "all", "FORBIDDEN"],
    ]) {
      expect([streamName, await joinCode(eve, streamName, groupId)]).toEqual([streamName, code]);
    }
    // One item of a group needs the same permission as the group.
    expect(await joinCode(eve, "rooms", "ada", { id: "card" })).toBe("FORBIDDEN");
    const byPath = await opened("stream/rooms/ada/card?key=eve");
    expect((await byPath.next(() => true)).event?.type).toBe("unauthorized");
    expect(JSON.stringify([eve.messages, byPath.messages])).not.toContain("card of ada");
    expect(await joinCode(eve, "rooms", "eve")).toBe("joined");
    await eve.next(({ event }) => event?.type === "sync");
    expect(JSON.stringify(eve.messages)).toContain("card of eve");
  });

  it("gets at no other group by a name with separators, control characters, or names of a prototype", async () => {
    const eve = await extended("eve");
    for (const [streamName, groupId] of [
      ["rooms/ada", "eve"],
      ["rooms", "eve/../ada"],
      ["rooms", "eve\u0000ada"],
      ["rooms\n", "ada"],
      ["ROOMS", "ada"],
      ["rooms ", "ada"],
      ["room\u200bs", "ada"],
      ["__proto__", "constructor"],
      ["constructor", "__proto__"],
      ["x".repeat(5_000), "ada"],
      [["rooms"], "ada"],
      ["rooms", { toString: "ada" }],
      ["rooms", null],
      ["", ""],
    ]) {
      eve.join(streamName, groupId, { subscriptionId: `name ${JSON.stringify([streamName, groupId]).slice(0, 60)}` });
    }
    // The engine reads a socket in order, so all earlier joins are accepted or rejected by now.
    expect(await joinCode(eve, "rooms", "eve")).toBe("joined");
    eve.say({ type: "ping" });
    await eve.next(({ type }) => type === "pong");
    expect(JSON.stringify(eve.messages)).not.toContain("card of ada");
    expect(asked.every((group) => typeof group === "string")).toBe(true);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("forges nothing by what it adds to a join: context, rights, a number of another run", async () => {
    const eve = await extended("eve");
    const epoch = (await eve.next(({ type }) => type === "welcome")).data?.epoch;
    for (const more of [
      { context: { user: "ada" } },
      { unauthorized: false, system_streams: true, systemStreams: true, trusted: true },
      { since: { epoch, seq: 0 } },
      { since: { epoch: "forged", seq: Number.MAX_SAFE_INTEGER } },
      JSON.parse('{"__proto__":{"context":{"user":"ada"},"systemStreams":true}}') as object,
    ]) {
      expect([more, await joinCode(eve, "rooms", "ada", more)]).toEqual([more, "FORBIDDEN"]);
      expect([more, await joinCode(eve, "svc.functions", "all", more)]).toEqual([more, "FORBIDDEN"]);
    }
    expect(JSON.stringify(eve.messages)).not.toContain("card of ada");
    // A forged position in its own group results in a gap and a sync.
    expect(await joinCode(eve, "rooms", "eve", { since: { epoch: "forged", seq: 1 } })).toBe("joined");
    expect(await eve.next(({ type }) => type === "gap")).toMatchObject({ data: { reason: "restarted" } });
  });

  it("ends no subscription of another client by its id", async () => {
    const eve = await extended("eve");
    // The watcher of the control has the id "s".
    eve.say({ type: "leave", data: { subscriptionId: "s" } });
    expect(await eve.next(({ type }) => type === "left")).toMatchObject({ data: { subscriptionId: "s" } });
    eve.join("rooms", "eve");
    expect(await eve.next(({ type }) => type === "joined")).toMatchObject({ data: { subscriptionId: "s" } });
  });

  it("calls no function and writes no item", async () => {
    const eve = await extended("eve");
    const write = { stream_name: "rooms", group_id: "eve", item_id: "forged", data: "forged" };
    const frames = [
      {
        type: "invokefunction",
        invocation_id: "00000000-0000-4000-8000-000000000000",
        function_id: "stream::set",
        data: write,
      },
      { type: "registerfunction", id: "clients::authenticate" },
      { type: "stream::set", data: write },
      { type: "stream", streamName: "rooms", groupId: "eve", id: "forged", event: { type: "create", data: "forged" } },
      { type: "event", data: write },
    ];
    for (const frame of frames) eve.say(frame);
    eve.say({ type: "ping" });
    await eve.next(({ type }) => type === "pong");
    expect(eve.messages.filter(({ data }) => data?.code === "invalid_message")).toHaveLength(frames.length);
    expect(await owner.result("stream::list", { stream_name: "rooms", group_id: "eve" })).toEqual(["card of eve"]);
  });
});

describe("a client that uses up resources", () => {
  it("by messages that cannot be understood is closed", async () => {
    const eve = await opened("?key=eve");
    for (let n = 0; n < 100; n++) eve.say(n % 2 === 0 ? "[".repeat(60_000) : Buffer.from([0xff, 0xfe, 0x00]));
    expect(await eve.closed).toBe(1008);
  });

  it("by a giant message is closed at its first bytes", async () => {
    const eve = await opened("?key=eve");
    eve.say("x".repeat(8 * 1024 * 1024));
    expect(await eve.closed).toBe(1009);
  });

  it("by a flood of joins and leaves is closed", async () => {
    const eve = await opened("?key=eve");
    for (let n = 0; n < 4_000; n++) {
      if (n % 2 === 0) eve.join("rooms", "eve");
      else eve.say({ type: "leave", data: { subscriptionId: "s" } });
    }
    expect(await eve.closed).toBe(1008);
  });

  it("by subscriptions has at most 100", async () => {
    const eve = await extended("eve");
    const codes = await Promise.all(Array.from({ length: 120 }, () => joinCode(eve, "rooms", "eve")));
    expect(codes.filter((code) => code === "joined")).toHaveLength(100);
    expect(codes.filter((code) => code === "overloaded")).toHaveLength(20);
  });

  it("by not reading is closed, while another client of the same group gets every event", async () => {
    const [slow, reader] = [await opened("?key=eve"), await opened("?key=eve")];
    for (const stream of [slow, reader]) {
      stream.join("rooms", "eve");
      await stream.next(({ event }) => event?.type === "sync");
    }
    slow.socket.pause();
    const text = "x".repeat(1_000_000);
    // The size of the kernel's buffers, which fill before the engine's, depends on the machine.
    let sent = 0;
    while (sent < 64 && (await subscribers("eve")) === 2) {
      await owner.result("stream::send", {
        stream_name: "rooms",
        group_id: "eve",
        type: `large ${++sent}`,
        data: text,
      });
    }
    expect(await subscribers("eve")).toBe(1);
    await reader.next(({ event }) => event?.event?.type === `large ${sent}`);
    expect(reader.messages.filter(({ event }) => event?.type === "event")).toHaveLength(sent);
    slow.socket.resume();
    expect(await slow.closed).toBe(4008);
    expect(reader.socket.readyState).toBe(WebSocket.OPEN);
  });
});
