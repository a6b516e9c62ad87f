import { connect, type Socket } from "node:net";
import { SlotIds } from "../frame-template.ts";
import { payloadOfBytes } from "../payloads.ts";
import { ClosedLoop } from "./closed-loop.ts";
import type { RelayLoad, Window } from "./load.ts";
import { callTemplate, resultTemplate } from "./wire-frames.ts";

const CONNECT_TIMEOUT_MS = 5000;

/**
 * Sends as many bytes as a call has through a relay to a second connection of this process, and then as many bytes as a
 * result has back. One call at a time is in flight.
 */
export async function runRelay(load: RelayLoad): Promise<Window> {
  const payload = payloadOfBytes(load.payloadBytes);
  const id = new SlotIds(0).next();
  const call = callTemplate("bench::echo", payload).withId(id);
  const answer = resultTemplate("bench::echo", payload).withId(id);
  const loop = new ClosedLoop(load, 1, () => caller.write(call));
  const onLost = (error: Error): void => loop.fail(error);
  const caller = await open(load.port, answer.length, () => loop.answered(0), onLost);
  const callee: Socket = await open(load.port, call.length, () => callee.write(answer), onLost);
  try {
    loop.start();
    return await loop.window;
  } finally {
    caller.destroy();
    callee.destroy();
  }
}

/** Calls `onMessage` after each further `messageBytes` bytes. */
function open(
  port: number,
  messageBytes: number,
  onMessage: () => void,
  onLost: (error: Error) => void,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let received = 0;
    const buffer = Buffer.allocUnsafeSlow(64 * 1024);
    const socket = connect({
      host: "127.0.0.1",
      port,
      noDelay: true,
      onread: {
        buffer,
        callback(bytes) {
          received += bytes;
          if (received >= messageBytes) {
            received -= messageBytes;
            onMessage();
          }
          return true;
        },
      },
    });
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection to port ${port} within ${CONNECT_TIMEOUT_MS} ms`)),
      CONNECT_TIMEOUT_MS,
    );
    socket.once("connect", () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
      onLost(error);
    });
  });
}
