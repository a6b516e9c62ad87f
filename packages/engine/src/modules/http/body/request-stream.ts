import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../kernel/clock.ts";
import type { ChannelWriter } from "../../../kernel/module.ts";
import { BodyPace } from "./body-pace.ts";

/** Maximum time without bytes from the client while the engine waits for the body, in milliseconds. */
export const BODY_IDLE_MS = 60_000;

/** Sends a body that was read completely: one item, then the end. */
export function sendWhole(writer: ChannelWriter, bytes: Buffer | undefined): void {
  // The channel accepts one item of any size, so there is no need to wait for room.
  if (bytes !== undefined) void writer.write({ kind: "binary", bytes });
  writer.end();
}

/** Callbacks of a streamed body. */
export interface BodyListener {
  /** The client sent nothing for too long; the channel was aborted. */
  idle(): void;
  /** Part of the body was received or read: the timeout of the route restarts. */
  moved(): void;
}

export interface BodyStreamOptions extends BodyListener {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/**
 * Passes a body on as it arrives, with backpressure while the channel is full. If the client disconnects, the channel
 * is aborted. If the reader disconnects, the rest of the body is not read here; it is discarded when the exchange of
 * request and response ends.
 */
export function streamBody(
  request: IncomingMessage,
  writer: ChannelWriter,
  { clock, timeoutMs, idle, moved }: BodyStreamOptions,
): void {
  const pace = new BodyPace({ clock, timeoutMs, onMoved: moved });
  let cancelIdle = (): void => {};
  const waitForClient = (): void => {
    cancelIdle = clock.after(BODY_IDLE_MS, () => {
      stop();
      writer.abort(`the client sent nothing for ${BODY_IDLE_MS} ms`);
      idle();
    });
    pace.startWaiting();
    request.resume();
  };
  let isStopped = false;
  const stop = (): void => {
    // Only the first call may pause the request, because other code may read the rest of the body after it.
    if (isStopped) return;
    isStopped = true;
    cancelIdle();
    request.pause();
    request.off("data", onData).off("end", onEnd).off("close", onClose);
    forgetReader();
  };
  function onData(bytes: Buffer): void {
    cancelIdle();
    pace.received(bytes.byteLength);
    request.pause();
    void writer.write({ kind: "binary", bytes }).then((isStillRead) => {
      if (!isStillRead) stop();
      else if (!isStopped) {
        pace.handedOn();
        waitForClient();
      }
    });
  }
  function onEnd(): void {
    pace.ended();
    stop();
    writer.end();
  }
  function onClose(): void {
    stop();
    writer.abort("the client disconnected before its body was complete");
  }
  const forgetReader = writer.onClosed(stop);
  request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", ignoreError);
  waitForClient();
}

// The client disconnected. The `close` event follows and reports it.
function ignoreError(): void {}
