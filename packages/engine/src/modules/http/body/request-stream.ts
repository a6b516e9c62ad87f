import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../kernel/clock.ts";
import type { ChannelWriter } from "../../../kernel/module.ts";
import { BodyPace } from "./body-pace.ts";

/** How long a client may send nothing while its body is waited for, in milliseconds. */
export const BODY_IDLE_MS = 60_000;

/** Sends a body that was read whole: one item, then the end. */
export function sendWhole(writer: ChannelWriter, bytes: Buffer | undefined): void {
  // The channel takes one item of any size; whether there is room for a second is of no interest.
  if (bytes !== undefined) void writer.write({ kind: "binary", bytes });
  writer.end();
}

/** What is heard of a body while it streams. */
export interface BodyListener {
  /** The client sent nothing for too long; the channel is torn. */
  idle(): void;
  /** It keeps moving: the timeout of its route begins anew. */
  moved(): void;
}

export interface BodyStreamOptions extends BodyListener {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/**
 * Hands a body on as it comes. The client is held back while the channel is full. When the client breaks off the channel is torn;
 * when the reader leaves, the rest stays unread for whoever ends the exchange.
 */
export function streamBody(request: IncomingMessage, writer: ChannelWriter, { clock, timeoutMs, idle, moved }: BodyStreamOptions): void {
  const pace = new BodyPace({ clock, timeoutMs, onMoved: moved });
  let cancelIdle = (): void => {};
  const waitForClient = (): void => {
    cancelIdle = clock.after(BODY_IDLE_MS, () => {
      stop();
      writer.abort(`the client sent nothing for ${BODY_IDLE_MS} ms`);
      idle();
    });
    pace.waits();
    request.resume();
  };
  let isStopped = false;
  const stop = (): void => {
    // The rest of the body is somebody else's from the first time on.
    if (isStopped) return;
    isStopped = true;
    cancelIdle();
    request.pause();
    request.off("data", onData).off("end", onEnd).off("close", onClose);
    forgetReader();
  };
  function onData(bytes: Buffer): void {
    cancelIdle();
    pace.came(bytes.byteLength);
    request.pause();
    void writer.write({ kind: "binary", bytes }).then((isStillRead) => {
      if (!isStillRead) stop();
      else if (!isStopped) {
        pace.passed();
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
    writer.abort("the client broke off before its body was complete");
  }
  const forgetReader = writer.onClosed(stop);
  request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", ignoreError);
  waitForClient();
}

// A client that breaks off; `close` follows and says so.
function ignoreError(): void {}
