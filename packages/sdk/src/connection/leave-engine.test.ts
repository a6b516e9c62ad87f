import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { MAX_QUEUED_CALLS } from "../calls/pending-calls.ts";
import { silentLogger } from "../logger.ts";
import { ManualClock } from "../manual-clock.test.support.ts";
import { Backoff } from "./backoff.ts";
import { Connection } from "./connection.ts";
import { LeaveEngine } from "./leave-engine.ts";
import { Session } from "./session.ts";
import type { SocketEvents } from "./socket.ts";

const nothing = (): void => {};

let clock: ManualClock;
/** Functions of the calls that were sent, and `leave` for each closed socket. */
let seen: string[];
let handlers: Promise<void>[];
let session: Session;
let leaving: LeaveEngine;
let events: SocketEvents;

beforeEach(() => {
  clock = new ManualClock();
  seen = [];
  handlers = [];
  let ids = 0;
  session = new Session({
    introduction: {},
    newId: () => String(++ids),
    output: {
      send: (frame) => {
        const { type, function_id: id } = JSON.parse(frame) as { readonly type: string; readonly function_id: string };
        if (type === "invokefunction" && id !== "engine::workers::register") seen.push(id);
      },
      ...{ registered: nothing, call: nothing, cancelCall: nothing, bind: nothing, unbind: nothing, log: nothing },
      ...{ disconnected: nothing, triggerResult: nothing, readMalformed: nothing },
    },
  });
  const connection = new Connection({
    ...{ address: "ws://a:1", further: ["ws://b:1"], clock, logger: silentLogger },
    backoff: new Backoff({ jitter: 0 }, () => 0.5),
    openSocket: (_address, given) => {
      events = given;
      const close = (): void => {
        seen.push("leave");
        given.closed("closed");
      };
      return { send: nothing, flushed: () => Promise.resolve(), bufferedBytes: 0, close, terminate: nothing };
    },
    events: {
      opened: () => session.opened(clock.monotonicMs()),
      lost: () => session.closed(),
      ...{ message: nothing, state: nothing },
    },
  });
  leaving = new LeaveEngine(session, connection, { callEnds: () => handlers }, ["ws://b:1"], clock);
  connection.start();
  events.opened();
});

function call(functionId: string, timeoutMs = 900_000): void {
  const request = { functionId, payload: null, timeoutMs };
  session.call(request as Parameters<Session["call"]>[0], clock.monotonicMs(), nothing, nothing);
}

/** The engine answers the call that was made as the n-th. */
async function answer(n: number): Promise<void> {
  session.received(JSON.stringify({ type: "invocationresult", invocation_id: String(n), function_id: "f", result: 1 }));
  await setImmediate();
}

async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await setImmediate();
}

async function ask(withinMs?: number): Promise<void> {
  leaving.takes(JSON.stringify({ type: "draining", within_ms: withinMs }));
  await setImmediate();
}

describe("an engine that is drained", () => {
  it("is left by a worker whose calls overlap: each time, new ones wait twice as long", async () => {
    call("first");
    await ask();
    call("second");
    await pass(499);
    expect(seen).toEqual(["first"]);
    await pass(1);
    expect(seen).toEqual(["first", "second"]);
    await answer(1);
    await pass(500);
    await ask();
    call("third");
    await pass(999);
    await answer(2);
    expect(seen).toEqual(["first", "second", "leave"]);
    await pass(50);
    events.opened();
    expect(seen).toEqual(["first", "second", "leave", "third"]);
  });

  it("holds calls back for at most half of the time, and at most 2 s, while one is in flight", async () => {
    call("long");
    for (const holdMs of [500, 1_000, 2_000, 2_000]) {
      seen = [];
      await ask();
      call("held");
      await pass(holdMs - 1);
      expect(seen).toEqual([]);
      await pass(1);
      expect(seen).toEqual(["held"]);
      await ask();
      call("at once");
      await pass(holdMs - 1);
      await ask();
      call("still");
      expect(seen).toEqual(["held", "at once", "still"]);
      await pass(1);
    }
  });
});

describe("calls that wait while their worker leaves an engine", () => {
  it("wait at most for half of the time that they have", async () => {
    call("long");
    await ask();
    await pass(100);
    call("short", 200);
    // It is seen at the next look.
    await pass(10);
    await pass(95);
    expect(seen).toEqual(["long", "short"]);
  });

  it("wait at most for half of the time that a call in flight has left", async () => {
    call("short", 500);
    await ask();
    call("next");
    await pass(249);
    expect(seen).toEqual(["short"]);
    await pass(1);
    expect(seen).toEqual(["short", "next"]);
  });

  it("are bounded in number, and the error says so", async () => {
    call("long");
    await ask();
    for (let n = 0; n < MAX_QUEUED_CALLS; n += 1) call(`f${n}`);
    expect(() => call("last")).toThrow(
      expect.objectContaining({
        message: "1000 calls already wait to be sent; function last was not called",
        details: { function_id: "last", max_queued_calls: MAX_QUEUED_CALLS, executed: "no" },
      }),
    );
    await pass(500);
    expect(seen).toHaveLength(1 + MAX_QUEUED_CALLS);
  });
});

describe("an engine that is cut off", () => {
  it("is left when no call is in flight, not before, and once", async () => {
    call("first");
    for (let second = 0; second < 10; second++) {
      await ask(60_000);
      await pass(1_000);
    }
    expect(seen).toEqual(["first"]);
    await answer(1);
    await pass(10_000);
    await ask(60_000);
    expect(seen).toEqual(["first", "leave"]);
    await pass(50);
    events.opened();
    await ask(60_000);
    expect(seen).toEqual(["first", "leave"]);
    await pass(300_000);
    await ask(60_000);
    expect(seen).toEqual(["first", "leave", "leave"]);
  });

  it("is left with calls in flight when it has asked for long enough, counted from when it was cut off", async () => {
    handlers.push(new Promise(nothing));
    await ask(60_000);
    // It was connected again meanwhile.
    await pass(100_000);
    for (let second = 0; second < 60; second++) {
      await ask(60_000);
      await pass(1_000);
    }
    expect(seen).toEqual([]);
    await ask(60_000);
    await pass(0);
    expect(seen).toEqual(["leave"]);
  });

  it("is left in time also if calls have just waited in vain", async () => {
    call("long");
    await ask(600);
    await pass(500);
    await ask(600);
    call("at once");
    await pass(100);
    expect(seen).toEqual(["long", "at once"]);
    await ask(600);
    await pass(0);
    expect(seen).toEqual(["long", "at once", "leave"]);
  });
});

it("a worker that shuts down stays at its engine, and its calls do not wait", async () => {
  call("first");
  await ask();
  call("second");
  leaving.stop();
  expect(seen).toEqual(["first", "second"]);
  await answer(1);
  await answer(2);
  await ask();
  await pass(1_000);
  expect(seen).toEqual(["first", "second"]);
});
