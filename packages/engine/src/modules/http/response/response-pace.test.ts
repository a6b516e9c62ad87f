import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { type ManualClock, manualClock } from "../../../testing/index.ts";
import { serve, site } from "../testing/site.ts";
import { READ_RESPONSE_MS } from "./response-pace.ts";

const SIZE = 24_000_000;

/** A clock that counts how often the engine waited for a client. */
function countingClock(): ManualClock & { readonly waits: () => number } {
  const clock = manualClock();
  let waits = 0;
  const counting = Object.create(clock, Object.getOwnPropertyDescriptors(clock)) as ManualClock;
  const after = (ms: number, action: () => void): (() => void) => {
    if (ms === READ_RESPONSE_MS) waits++;
    return clock.after(ms, action);
  };
  return Object.defineProperties(counting, {
    after: { value: after },
    waits: { value: () => waits },
  }) as ManualClock & { readonly waits: () => number };
}

it.each(["a whole answer", "one big piece of a stream"])("%s may be read slowly while it is read", async (what) => {
  const clock = countingClock();
  const here = await site({ clock, config: { compression: false } });
  await serve(here.worker, "/big", async ({ response }) => {
    if (what === "a whole answer") return { headers: { "content-type": "text/plain" }, body: "x".repeat(SIZE) };
    const writer = here.engine.takeWriter(response);
    await writer.write({ kind: "binary", bytes: Buffer.alloc(SIZE) });
    writer.end();
    return undefined;
  });
  const socket = connect(Number(new URL(here.url).port), "127.0.0.1");
  socket.write("GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const ended = once(socket, "end");
  for (let part = 1; part <= 4; part++) {
    const waitsBefore = clock.waits();
    while (socket.bytesRead < (part * SIZE) / 8) {
      if (socket.read() === null) await once(socket, "readable");
    }
    // The client has read, so there is room and the next wait has begun.
    await expect.poll(clock.waits).toBeGreaterThan(waitsBefore);
    clock.advance(40_000);
  }
  socket.resume();
  await ended;
  expect(socket.bytesRead).toBeGreaterThan(SIZE);
});
