import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { CallError, decodeFrame, decodeFrameBytes, type Frame, MAX_FRAME_BYTES, type MessageType, type WorkerId } from "@svc/protocol";
import type { SessionAccess } from "./access/session-access.ts";
import type { FrameSocket, FrameSocketListener } from "./frame-socket.ts";
import type { Kernel } from "./kernel.ts";
import { countsBytes, RegistrationBudget } from "./registration-budget.ts";
import type { Undo } from "./scope.ts";
import { Session, type SessionOutlet } from "./session.ts";
import { SIGNAL_PREFIX_BYTES, signalOfFrame } from "./telemetry-frames.ts";

/** A peer that sends nothing for so long is cut off, in milliseconds: with the pace of the looks at it, within 25 s. */
const DEAD_AFTER_MS = 22_500;
/** Every so many looks a ping goes out: each 10 s. */
const LOOKS_PER_PING = 4;
/** Largest frame that registers something, in bytes: it is kept, listed and sent on. */
const MAX_REGISTRATION_BYTES = 1024 * 1024;
/** Above either of these a worker gets no further calls (`worker_overloaded`) and is not read from until it catches up. */
const MAX_QUEUED_FRAMES = 4_096;
const MAX_QUEUED_BYTES = MAX_FRAME_BYTES;
/** A worker whose queue stays over the limit for so long is cut off, in milliseconds. */
const STALLED_AFTER_MS = 30_000;
/** How often a full queue is looked at again, in milliseconds. */
const BACKPRESSURE_CHECK_MS = 50;
/** Small frames are cheaper to handle as text than as bytes. */
const SMALL_FRAME_BYTES = 2_048;
/** "Service restart": every published client reconnects on it; on 1000 and 1001 the published Python client never does. */
const CLOSE_SERVICE_RESTART = 1012;

const always = (): boolean => true;

const toText = (bytes: Uint8Array): string => (bytes as Buffer).toString("utf8");

/** One worker's socket: heartbeat, send queue with its bound, and back-pressure. What the frames mean is the session's business. */
export class Connection implements SessionOutlet, FrameSocketListener {
  readonly session: Session;
  readonly #kernel: Kernel;
  readonly #socket: FrameSocket;
  // Made when the first counted one comes: hardly any trusted connection has one.
  #registrations: RegistrationBudget | undefined;
  #lastHeardAt: number;
  /** Since the last look. Looking at the clock at each frame would cost as much as finding the call that it answers. */
  #wasHeard = false;
  #looks = 0;
  #ended = false;
  #fullSince: number | undefined;
  /** How many reasons there are not to read just now. */
  #pauses = 0;

  /** Without `access` the connection is not restricted. `isCurrent`: see Session; by default it stays so. */
  constructor(
    kernel: Kernel,
    socket: FrameSocket,
    { access, isCurrent = always }: { readonly access?: SessionAccess | undefined; readonly isCurrent?: () => boolean } = {},
  ) {
    this.#kernel = kernel;
    this.#socket = socket;
    this.#lastHeardAt = kernel.clock.monotonic();
    this.session = new Session(kernel, this, {
      workerId: randomUUID() as WorkerId,
      reattachToken: randomUUID(),
      remoteAddress: socket.remoteAddress,
      access,
      isCurrent,
    });
    kernel.heartbeat.add(this);
    kernel.sessions.add(this.session);
    kernel.changes.emit({ kind: "worker", id: this.session.workerId, op: "created" });
    socket.listen(this);
    this.session.greet();
    this.session.log.debug("a worker connected", { remoteAddress: socket.remoteAddress });
  }

  /** Ends the connection now: the worker's registrations and calls are gone when this returns. */
  drop(reason: string): void {
    if (this.#ended) return;
    this.#socket.close(CLOSE_SERVICE_RESTART, reason);
    this.onClosed(CLOSE_SERVICE_RESTART, reason);
  }

  /** Ends the socket without a closing word, after the frames that are queued. */
  hangUp(reason: string): void {
    this.#socket.hangUp();
    this.onClosed(1006, reason);
  }

  onAlive(): void {
    this.#wasHeard = false;
    this.#lastHeardAt = this.#kernel.clock.monotonic();
  }

  onFrame(bytes: Buffer, kind: "text" | "binary"): void {
    if (this.#ended) return;
    this.#wasHeard = true;
    if (kind === "binary") {
      // Telemetry may share the socket.
      const signal = signalOfFrame(bytes);
      if (signal !== undefined) {
        const worker = { id: this.session.workerId, name: this.session.name };
        this.#kernel.telemetry.collector?.ingest(signal, bytes.subarray(SIGNAL_PREFIX_BYTES), {
          worker,
          address: this.#socket.remoteAddress,
          principal: this.session.principal,
        });
        return;
      }
    }
    if (kind === "binary" && !isUtf8(bytes)) {
      this.session.sendError(new CallError("invalid_message", "a binary frame holds bytes that are not UTF-8"));
      return;
    }
    const options = { payloadIsLast: this.session.features.has("payload_last") };
    const message = bytes.length <= SMALL_FRAME_BYTES ? decodeFrame(toText(bytes), options) : decodeFrameBytes(bytes, options, toText);
    if (message.type === "undecodable" && isBlank(bytes)) return;
    if (bytes.length > MAX_REGISTRATION_BYTES && message.type !== "invokefunction" && message.type !== "invocationresult") {
      const problem = `a ${message.type} frame has ${bytes.length} bytes; ${MAX_REGISTRATION_BYTES} is the limit for all but calls and answers`;
      this.session.sendError(new CallError("payload_too_large", problem, { details: { message_type: message.type } }));
      return;
    }
    if ("id" in message && message.type !== "undecodable") {
      const problem = this.#registrationProblem(message.type, message.id, bytes.length);
      if (problem !== undefined) {
        this.session.sendError(new CallError("payload_too_large", problem, { details: { message_type: message.type, id: message.id } }));
        return;
      }
    }
    try {
      this.session.receive(message);
    } catch (error) {
      // A defect of the engine. It must not end more than this frame: other workers live in the same process.
      this.session.log.error("a frame could not be handled", { messageType: message.type, error });
      this.session.sendError(new CallError("invocation_error", "the engine failed to handle the frame; its log has the reason"));
    }
    if (this.isFull()) this.#holdBack();
  }

  #registrationProblem(type: MessageType, id: string, bytes: number): string | undefined {
    const { principal } = this.session;
    if (countsBytes(principal, bytes)) this.#registrations ??= new RegistrationBudget(principal, this.#kernel.quotas.registeredBytes);
    return this.#registrations?.problemOf(type, id, bytes);
  }

  send(frame: Frame): void {
    if (!this.#ended) this.#socket.send(frame);
  }

  get isOpen(): boolean {
    return this.#socket.isOpen;
  }

  trackNextFrame(): (() => boolean) | undefined {
    return this.#socket.trackNextFrame();
  }

  pauseReading(): Undo {
    if (this.#pauses++ === 0) this.#socket.pause();
    let resumed = false;
    return () => {
      if (resumed) return;
      resumed = true;
      // What waited unread was not silence.
      this.onAlive();
      if (--this.#pauses === 0) this.#socket.resume();
    };
  }

  isFull(): boolean {
    return this.#socket.queuedFrames >= MAX_QUEUED_FRAMES || this.#socket.queuedBytes >= MAX_QUEUED_BYTES;
  }

  /**
   * The peer does not read what it is sent. Reading from it stops as well, so that answers to its own calls cannot pile up,
   * and starts again once its queue has room.
   */
  #holdBack(): void {
    if (this.#fullSince !== undefined) return;
    this.#fullSince = this.#kernel.clock.monotonic();
    const resume = this.pauseReading();
    this.session.log.warn("a worker does not keep up; it gets no further calls until it does", {
      queuedFrames: this.#socket.queuedFrames,
      queuedBytes: this.#socket.queuedBytes,
    });
    const look = (): void => {
      if (this.#ended || this.#fullSince === undefined) return;
      if (!this.isFull()) {
        this.#fullSince = undefined;
        resume();
      } else if (this.#kernel.clock.monotonic() - this.#fullSince >= STALLED_AFTER_MS) {
        this.drop("the worker did not read from its socket for 30 s");
      } else {
        this.#kernel.clock.after(BACKPRESSURE_CHECK_MS, look);
      }
    };
    this.#kernel.clock.after(BACKPRESSURE_CHECK_MS, look);
  }

  /** Called every 2.5 s: cuts off who fell silent, and pings from time to time. */
  beat(): void {
    // While reading is paused nothing can be heard; the stall limit, or the hook's deadline, watches over that time.
    if (this.#pauses > 0) {
      this.#lastHeardAt = this.#kernel.clock.monotonic();
      return;
    }
    if (this.isFull()) this.#holdBack();
    if (this.#wasHeard) this.onAlive();
    const quietMs = this.#kernel.clock.monotonic() - this.#lastHeardAt;
    if (quietMs >= DEAD_AFTER_MS) {
      this.session.log.warn("a worker fell silent and was cut off", { quietMs: Math.round(quietMs), workerName: this.session.name });
      this.#socket.terminate();
      this.onClosed(1006, "the worker fell silent");
      return;
    }
    this.#looks++;
    if (this.#looks % LOOKS_PER_PING === 0) this.#socket.ping();
  }

  onClosed(code: number, reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#kernel.heartbeat.remove(this);
    const { session } = this;
    this.#kernel.sessions.remove(session);
    session.end();
    this.#registrations?.end();
    this.#kernel.triggers.forgetWorker(session.workerId);
    this.#kernel.changes.emit({ kind: "worker", id: session.workerId, op: "removed" });
    session.log.debug("a worker disconnected", { code, reason, workerName: session.name });
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length < SMALL_FRAME_BYTES && bytes.toString("utf8").trim() === "";
}
