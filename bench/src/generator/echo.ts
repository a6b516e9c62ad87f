import { findInvocationId, SlotIds, slotOfId } from "../frame-template.ts";
import { payloadOfBytes } from "../payloads.ts";
import { WebSocketClient } from "../websocket-client.ts";
import { ClosedLoop } from "./closed-loop.ts";
import type { EchoLoad, Window } from "./load.ts";
import { callTemplate } from "./wire-frames.ts";

/** Sends frames of a call in a closed loop over one connection to an echo server. */
export async function runEcho(load: EchoLoad): Promise<Window> {
  const template = callTemplate("bench::echo", payloadOfBytes(load.payloadBytes));
  const slotIds = Array.from({ length: load.concurrency }, (_, slot) => new SlotIds(slot));
  const loop = new ClosedLoop(load, load.concurrency, (slot) =>
    socket.queue(template.withId((slotIds[slot] as SlotIds).next())),
  );
  const socket = await WebSocketClient.open(load.port, "/", {
    onMessage: (frame) => loop.answered(slotOfId(frame, findInvocationId(frame))),
    onReadEnd() {},
    onClosed: (reason) => loop.fail(new Error(reason)),
  });
  try {
    loop.start();
    socket.flush();
    return await loop.window;
  } finally {
    socket.destroy();
  }
}
