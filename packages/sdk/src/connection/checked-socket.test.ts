import { expect, it } from "vitest";
import { CheckedSocket } from "./checked-socket.ts";
import type { Socket, SocketEvents } from "./socket.ts";

function recorded(): { readonly closed: string[]; readonly events: SocketEvents } {
  const closed: string[] = [];
  return {
    closed,
    events: { opened: () => {}, message: () => {}, alive: () => {}, closed: (reason) => void closed.push(reason) },
  };
}

function inner(): Socket & { readonly did: string[] } {
  const did: string[] = [];
  return {
    did,
    bufferedBytes: 7,
    send: (frame) => void did.push(`send ${String(frame)}`),
    flushed: () => Promise.resolve(),
    ping: () => void did.push("ping"),
    close: () => void did.push("close"),
    terminate: () => void did.push("terminate"),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("opens no socket when the check rejects, and closes with its error", async () => {
  const { closed, events } = recorded();
  const open = (): Socket => {
    throw new Error("opened all the same");
  };
  const socket = new CheckedSocket(() => Promise.reject(new Error("not the engine of this folder")), open, events);
  await turn();
  expect(closed).toEqual(["not the engine of this folder"]);
  socket.terminate();
  expect(closed).toHaveLength(1);
});

it("passes everything on once the check has resolved", async () => {
  const { closed, events } = recorded();
  const below = inner();
  const socket = new CheckedSocket(
    () => Promise.resolve(),
    () => below,
    events,
  );
  await turn();
  socket.send("a");
  socket.ping();
  socket.close();
  socket.terminate();
  expect(below.did).toEqual(["send a", "ping", "close", "terminate"]);
  expect(socket.bufferedBytes).toBe(7);
  expect(closed).toEqual([]);
});

it.each(["close", "terminate"] as const)(
  "ends at once by %s during the check, and opens nothing afterwards",
  async (end) => {
    const { closed, events } = recorded();
    let pass = (): void => {};
    const below = inner();
    let opened = 0;
    const socket = new CheckedSocket(
      () =>
        new Promise((resolve) => {
          pass = resolve;
        }),
      () => {
        opened++;
        return below;
      },
      events,
    );
    socket[end]();
    expect(closed).toEqual(["closed before it was open"]);
    pass();
    await turn();
    expect(opened).toBe(0);
  },
);
