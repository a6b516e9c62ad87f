import { describe, expect, it } from "vitest";
import { silentLogger } from "../logger.ts";
import { ManualClock } from "../manual-clock.test.support.ts";
import { Backoff, type ReconnectOptions } from "./backoff.ts";
import { CLOSE_TIMEOUT_MS, Connection, HANDSHAKE_TIMEOUT_MS, notConnected, STABLE_AFTER_MS } from "./connection.ts";
import type { Socket, SocketEvents } from "./socket.ts";

/** A socket in memory. The test calls `events` in place of the engine. */
class MemorySocket implements Socket {
  readonly events: SocketEvents;
  readonly sent: string[] = [];
  readonly bufferedBytes = 0;
  pings = 0;
  closes = 0;
  terminated = false;

  constructor(events: SocketEvents) {
    this.events = events;
  }
  send(text: string): void {
    this.sent.push(text);
  }
  flushed(): Promise<void> {
    return Promise.resolve();
  }
  ping(): void {
    this.pings++;
  }
  close(): void {
    this.closes++;
  }
  terminate(): void {
    this.terminated = true;
    this.events.closed("terminated");
  }
}

function setUp(reconnect: ReconnectOptions = { jitter: 0 }) {
  const clock = new ManualClock();
  const sockets: MemorySocket[] = [];
  const reported: string[] = [];
  const connection = new Connection({
    address: "ws://svc:secret@engine:1/?token=t",
    clock,
    logger: silentLogger,
    backoff: new Backoff(reconnect, () => 0.5),
    openSocket: (_address, events) => {
      const socket = new MemorySocket(events);
      sockets.push(socket);
      return socket;
    },
    events: {
      opened: () => reported.push("opened"),
      message: (text) => reported.push(`message ${text}`),
      lost: () => reported.push("lost"),
      state: (state) => reported.push(state),
    },
  });
  connection.start();
  const socket = (): MemorySocket => sockets.at(-1) as MemorySocket;
  return { clock, sockets, socket, reported, connection };
}

describe("the connection", () => {
  it("reports opening, registration, loss and the new attempt in this order", () => {
    const { socket, reported, connection, clock } = setUp();
    socket().events.opened();
    connection.confirmed();
    socket().events.message("hello");
    socket().events.closed("gone");
    clock.advance(1000);
    expect(reported).toEqual(["connecting", "opened", "connected", "message hello", "lost", "reconnecting"]);
  });

  it("tries the next address at once after a loss, and waits after all of them failed", () => {
    const clock = new ManualClock();
    const tried: string[] = [];
    let events: SocketEvents | undefined;
    const connection = new Connection({
      ...{ address: "ws://a:1", further: ["ws://b:1", "ws://c:1"], clock, logger: silentLogger },
      backoff: new Backoff({ jitter: 0 }, () => 0.5),
      openSocket: (address, given) => {
        tried.push(address.slice(5, 6));
        events = given;
        return new MemorySocket(given);
      },
      events: { opened: () => {}, message: () => {}, lost: () => {}, state: () => {} },
    });
    connection.start();
    events?.opened();
    connection.confirmed();
    clock.advance(10_000);
    for (const ms of [50, 50, 999, 1, 50, 50, 2_000]) {
      if (ms !== 1) events?.closed("gone");
      clock.advance(ms);
    }
    // Without a further loss after 999 ms, `a` is tried after the whole second.
    expect(tried).toEqual(["a", "b", "c", "a", "b", "c", "a"]);
    expect(connection.shownAddress).toBe("ws://a:1/");
  });

  it("waits 1, 2, 4, 8, 16, 30 and again 30 seconds between failed attempts", () => {
    const { clock, sockets, socket } = setUp();
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      const before = sockets.length;
      socket().events.closed("refused");
      clock.advance(seconds * 1000 - 1);
      expect(sockets).toHaveLength(before);
      clock.advance(1);
      expect(sockets).toHaveLength(before + 1);
    }
  });

  it("retries when the engine refuses it, and exposes the status, also during the next attempt", () => {
    const { clock, socket, connection } = setUp();
    socket().events.closed("refused with HTTP 401: wrong token", { status: 401, message: "wrong token" });
    clock.advance(1000);
    expect(notConnected(connection, "not connected to").message).toBe(
      "not connected to ws://svc:***@engine:1/?***: refused with HTTP 401: wrong token",
    );
    expect(notConnected(connection, "").details).toMatchObject({ status: 401, engine_message: "wrong token" });
    socket().events.opened();
    expect([connection.lastProblem, connection.refusal]).toEqual(["", undefined]);
  });

  it("does not reset the backoff when sockets close before the engine registers the worker", () => {
    const { clock, sockets, socket } = setUp();
    for (const seconds of [1, 2, 4]) {
      socket().events.opened();
      socket().events.closed("kicked");
      const before = sockets.length;
      clock.advance(seconds * 1000 - 1);
      expect(sockets).toHaveLength(before);
      clock.advance(1);
      expect(sockets).toHaveLength(before + 1);
    }
  });

  it.each(["registered", "stable"])("resets the backoff after a connection that was %s, with any close", (how) => {
    const { clock, sockets, socket, connection } = setUp();
    for (const seconds of [1, 2, 4]) {
      socket().events.closed("refused");
      clock.advance(seconds * 1000);
    }
    socket().events.opened();
    if (how === "registered") connection.confirmed();
    else clock.advance(STABLE_AFTER_MS);
    const before = sockets.length;
    socket().events.closed("closed with code 1000");
    clock.advance(1000);
    expect(sockets).toHaveLength(before + 1);
  });

  it("terminates a handshake that takes too long and retries", () => {
    const { clock, sockets, socket, connection } = setUp();
    clock.advance(HANDSHAKE_TIMEOUT_MS);
    expect(socket().terminated).toBe(true);
    expect(connection.lastProblem).toContain("handshake");
    clock.advance(1000);
    expect(sockets).toHaveLength(2);
  });

  it("detects within 25 s that the engine sends nothing and does not answer a ping", () => {
    const { clock, socket, connection } = setUp();
    socket().events.opened();
    const first = socket();
    clock.advance(15_000);
    expect(first.pings).toBe(1);
    first.events.alive();
    clock.advance(10_000);
    expect(first.terminated).toBe(false);
    clock.advance(15_000);
    expect(first.pings).toBe(2);
    expect(first.terminated).toBe(true);
    expect(connection.state).toBe("reconnecting");
  });

  it("gives up after the allowed attempts", () => {
    const { clock, sockets, socket, connection, reported } = setUp({ maxAttempts: 2, jitter: 0 });
    for (const seconds of [1, 2, 4]) {
      socket().events.closed("refused");
      clock.advance(seconds * 1000);
    }
    expect(sockets).toHaveLength(3);
    expect(connection.state).toBe("failed");
    expect(reported.filter((event) => event === "failed")).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });

  it("closes with a handshake, terminates after a second, and leaves no timer", async () => {
    const { clock, socket, connection } = setUp();
    socket().events.opened();
    const stopped = connection.stop();
    expect(socket().closes).toBe(1);
    clock.advance(CLOSE_TIMEOUT_MS);
    await stopped;
    expect(socket().terminated).toBe(true);
    expect(connection.state).toBe("closed");
    expect(clock.timers).toBe(0);
  });

  it("makes no new attempt once it was stopped while waiting for one", async () => {
    const { clock, sockets, socket, connection } = setUp();
    socket().events.closed("refused");
    await connection.stop();
    clock.advance(60_000);
    expect(sockets).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });

  it("retries if a socket cannot be created", () => {
    const clock = new ManualClock();
    let attempts = 0;
    const connection = new Connection({
      address: "ws://x",
      clock,
      logger: silentLogger,
      backoff: new Backoff({ jitter: 0 }),
      openSocket: () => {
        attempts++;
        throw new Error("no sockets here");
      },
      events: { opened: () => {}, message: () => {}, lost: () => {}, state: () => {} },
    });
    connection.start();
    clock.advance(3000);
    expect(attempts).toBe(3);
    expect(connection.lastProblem).toBe("no sockets here");
  });

  it("survives listeners that throw", () => {
    const clock = new ManualClock();
    const sockets: MemorySocket[] = [];
    const boom = (): never => {
      throw new Error("boom");
    };
    const connection = new Connection({
      address: "ws://x",
      clock,
      logger: silentLogger,
      backoff: new Backoff(),
      openSocket: (_address, events) => {
        const socket = new MemorySocket(events);
        sockets.push(socket);
        return socket;
      },
      events: { opened: boom, message: boom, lost: boom, state: boom },
    });
    connection.start();
    sockets[0]?.events.opened();
    sockets[0]?.events.message("x");
    connection.confirmed();
    sockets[0]?.events.closed("gone");
    expect(connection.state).toBe("reconnecting");
  });

  it("never exposes the address's secrets", () => {
    expect(setUp().connection.shownAddress).toBe("ws://svc:***@engine:1/?***");
  });
});

describe("the backoff", () => {
  it("varies each wait by the jitter in both directions", () => {
    expect(new Backoff({}, () => 0).next()).toBe(700);
    expect(new Backoff({}, () => 0.999_999).next()).toBe(1300);
  });

  it.each([
    { initialDelayMs: -1 },
    { multiplier: 0.5 },
    { jitter: 2 },
    { maxDelayMs: Number.NaN },
    { maxAttempts: -1 },
  ])("refuses %j", (options) => {
    expect(() => new Backoff(options)).toThrow(TypeError);
  });
});
