import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import {
  CallError,
  decodeFrame,
  decodeFrameBytes,
  type Frame,
  MAX_FRAME_BYTES,
  type MessageType,
  type WorkerId,
} from "@svc-runtime/protocol";
import type { Quotas } from "../access/quotas.ts";
import type { SessionAccess } from "../access/session-access.ts";
import type { Clock } from "./clock.ts";
import type { FrameSocket, FrameSocketListener } from "./frame-socket.ts";
import { BEATS_PER_PING, DEAD_AFTER_MS, type Heartbeat } from "./heartbeat.ts";
import { countsBytes, RegistrationBudget } from "./registration-budget.ts";
import type { Undo } from "./scope.ts";
import { Session, type SessionOutlet, type SessionPorts } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import { SIGNAL_PREFIX_BYTES, signalOfFrame, type TelemetryHub } from "./telemetry.ts";
import type { TriggerRegistry } from "./triggers/trigger-registry.ts";

/** Maximum size of a registration frame, in bytes: registrations are stored, listed and forwarded. */
const MAX_REGISTRATION_BYTES = 1024 * 1024;
/**
 * If a worker's send queue reaches one of these limits, two things happen until it is shorter: the worker gets no
 * further calls (`worker_overloaded`), and the engine does not read its socket.
 */
const MAX_QUEUED_FRAMES = 4_096;
const MAX_QUEUED_BYTES = MAX_FRAME_BYTES;
/**
 * From this size on, large answers to the worker's own calls are dropped. The limit of a trusted worker is larger than
 * the limit for calls, because the functions of these calls have run.
 */
const MAX_QUEUED_ANSWER_BYTES = { trusted: 4 * MAX_QUEUED_BYTES, restricted: MAX_QUEUED_BYTES } as const;
/** A worker whose queue is over the limit and that reads nothing for this long is disconnected, in milliseconds. */
const STALLED_AFTER_MS = 30_000;
/** Interval for checking a full queue, in milliseconds. */
const BACKPRESSURE_CHECK_MS = 50;
/** Small frames are cheaper to handle as text than as bytes. */
const SMALL_FRAME_BYTES = 2_048;
/**
 * "Service restart". Every published client reconnects after this code. After 1000 or 1001, the published Python client
 * does not reconnect.
 */
const CLOSE_SERVICE_RESTART = 1012;

const always = (): boolean => true;

const toText = (bytes: Uint8Array): string => (bytes as Buffer).toString("utf8");

/** The parts of the kernel that a connection uses. */
export interface ConnectionPorts extends SessionPorts {
  readonly clock: Clock;
  readonly heartbeat: Heartbeat;
  readonly sessions: Sessions;
  readonly triggers: TriggerRegistry;
  readonly quotas: Quotas;
  readonly telemetry: TelemetryHub;
}

/** One worker's socket: heartbeat, bounded send queue and backpressure. The session handles the content of frames. */
export class Connection implements SessionOutlet, FrameSocketListener {
  readonly session: Session;
  readonly #ports: ConnectionPorts;
  readonly #socket: FrameSocket;
  // Created when the first registration must be counted, because most trusted connections never need it.
  #registrations: RegistrationBudget | undefined;
  #lastHeardAt: number;
  /**
   * Whether a frame arrived since the last heartbeat. The time is not stored, because reading the clock at each frame
   * would cost as much as finding the call that the frame belongs to.
   */
  #wasHeard = false;
  #beats = 0;
  #ended = false;
  #fullSince: number | undefined;
  /** Number of reasons to pause reading. */
  #pauses = 0;

  /** Without `access` the connection is not restricted. `isCurrent`: see Session; by default always true. */
  constructor(
    ports: ConnectionPorts,
    socket: FrameSocket,
    {
      access,
      isCurrent = always,
    }: { readonly access?: SessionAccess | undefined; readonly isCurrent?: () => boolean } = {},
  ) {
    this.#ports = ports;
    this.#socket = socket;
    const connectedAt = ports.clock.monotonic();
    this.#lastHeardAt = connectedAt;
    this.session = new Session(ports, this, {
      workerId: randomUUID() as WorkerId,
      reattachToken: randomUUID(),
      remoteAddress: socket.remoteAddress,
      connectedAtMs: ports.clock.now(),
      connectedAt,
      access,
      isCurrent,
    });
    ports.heartbeat.add(this);
    ports.sessions.add(this.session);
    ports.changes.emit({ kind: "worker", id: this.session.workerId, op: "created" });
    socket.listen(this);
    this.session.greet();
    this.session.log.debug("a worker connected", { remoteAddress: socket.remoteAddress });
  }

  /** Closes the connection now. When this returns, the worker's registrations and calls are removed. */
  drop(reason: string): void {
    if (this.#ended) return;
    this.#socket.close(CLOSE_SERVICE_RESTART, reason);
    this.onClosed(CLOSE_SERVICE_RESTART, reason);
  }

  /** Ends the socket without a close frame, after the queued frames. */
  hangUp(reason: string): void {
    this.#socket.hangUp();
    this.onClosed(1006, reason);
  }

  onAlive(): void {
    this.#wasHeard = false;
    this.#lastHeardAt = this.#ports.clock.monotonic();
  }

  onFrame(bytes: Buffer, kind: "text" | "binary"): void {
    if (this.#ended) return;
    this.#wasHeard = true;
    if (kind === "binary") {
      // Telemetry may share the socket.
      const signal = signalOfFrame(bytes);
      if (signal !== undefined) {
        const worker = { id: this.session.workerId, name: this.session.name };
        this.#ports.telemetry.collector?.ingest(signal, bytes.subarray(SIGNAL_PREFIX_BYTES), {
          worker,
          address: this.#socket.remoteAddress,
          principal: this.session.principal,
        });
        return;
      }
    }
    if (kind === "binary" && !isUtf8(bytes)) {
      this.session.sendError(new CallError("invalid_message", "a binary frame is not valid UTF-8"));
      return;
    }
    const options = { payloadIsLast: this.session.features.has("payload_last") };
    const message =
      bytes.length <= SMALL_FRAME_BYTES
        ? decodeFrame(toText(bytes), options)
        : decodeFrameBytes(bytes, options, toText);
    if (message.type === "undecodable" && isBlank(bytes)) return;
    if (
      bytes.length > MAX_REGISTRATION_BYTES &&
      message.type !== "invokefunction" &&
      message.type !== "invocationresult"
    ) {
      const problem = `a ${message.type} frame has ${bytes.length} bytes; ${MAX_REGISTRATION_BYTES} is the limit for all frames except calls and results`;
      this.session.sendError(new CallError("payload_too_large", problem, { details: { message_type: message.type } }));
      return;
    }
    if ("id" in message && message.type !== "undecodable") {
      const problem = this.#registrationProblem(message.type, message.id, bytes.length);
      if (problem !== undefined) {
        this.session.sendError(
          new CallError("payload_too_large", problem, { details: { message_type: message.type, id: message.id } }),
        );
        return;
      }
    }
    try {
      this.session.receive(message);
    } catch (error) {
      // This is a defect of the engine. It must affect this frame only, because all workers depend on this process.
      this.session.log.error("a frame could not be handled", { messageType: message.type, error });
      this.session.sendError(
        new CallError("invocation_error", "the engine failed to handle the frame; its log has the reason"),
      );
    }
    if (this.isFull()) this.#applyBackpressure();
  }

  #registrationProblem(type: MessageType, id: string, bytes: number): string | undefined {
    const { principal } = this.session;
    if (countsBytes(principal, bytes))
      this.#registrations ??= new RegistrationBudget(principal, this.#ports.quotas.registeredBytes);
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
      // While reading was paused, no frame of the peer could arrive. So its silence begins to count now.
      this.onAlive();
      if (--this.#pauses === 0) this.#socket.resume();
    };
  }

  isFull(): boolean {
    return this.#socket.queuedFrames >= MAX_QUEUED_FRAMES || this.#socket.queuedBytes >= MAX_QUEUED_BYTES;
  }

  isOverfull(): boolean {
    const { isTrusted } = this.session.principal;
    return this.#socket.queuedBytes >= MAX_QUEUED_ANSWER_BYTES[isTrusted ? "trusted" : "restricted"];
  }

  /**
   * Called when the peer reads its socket too slowly. Stops reading from the peer, so that it cannot make calls whose
   * results would pile up. Reading resumes when the send queue has room.
   */
  #applyBackpressure(): void {
    if (this.#fullSince !== undefined) return;
    this.#fullSince = this.#ports.clock.monotonic();
    const resume = this.pauseReading();
    this.session.log.warn("a worker is too slow; it gets no further calls until its queue has room", {
      queuedFrames: this.#socket.queuedFrames,
      queuedBytes: this.#socket.queuedBytes,
    });
    let queuedBytes = this.#socket.queuedBytes;
    const check = (): void => {
      if (this.#ended || this.#fullSince === undefined) return;
      if (this.#socket.queuedBytes < queuedBytes) this.#fullSince = this.#ports.clock.monotonic();
      queuedBytes = this.#socket.queuedBytes;
      if (!this.isFull()) {
        this.#fullSince = undefined;
        resume();
      } else if (this.#ports.clock.monotonic() - this.#fullSince >= STALLED_AFTER_MS) {
        this.drop("the worker did not read from its socket for 30 s");
      } else {
        this.#ports.clock.after(BACKPRESSURE_CHECK_MS, check);
      }
    };
    this.#ports.clock.after(BACKPRESSURE_CHECK_MS, check);
  }

  /** Called every 2.5 s: disconnects a silent peer, and pings it at every fourth call. */
  beat(): void {
    // While reading is paused, no frame of the peer can arrive, so its silence does not count. The pause itself is
    // limited: by STALLED_AFTER_MS if the queue is full, or by the timeout of the registration hook that is waited for.
    if (this.#pauses > 0) {
      this.#lastHeardAt = this.#ports.clock.monotonic();
      return;
    }
    if (this.isFull()) this.#applyBackpressure();
    if (this.#wasHeard) this.onAlive();
    const quietMs = this.#ports.clock.monotonic() - this.#lastHeardAt;
    if (quietMs >= DEAD_AFTER_MS) {
      this.session.log.warn("a silent worker was disconnected", {
        quietMs: Math.round(quietMs),
        workerName: this.session.name,
      });
      this.#socket.terminate();
      this.onClosed(1006, "the worker fell silent");
      return;
    }
    this.#beats++;
    if (this.#beats % BEATS_PER_PING === 0) this.#socket.ping();
  }

  onClosed(code: number, reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#ports.heartbeat.remove(this);
    const { session } = this;
    this.#ports.sessions.remove(session);
    session.end();
    this.#registrations?.end();
    this.#ports.triggers.forgetWorker(session.workerId);
    this.#ports.changes.emit({ kind: "worker", id: session.workerId, op: "removed" });
    session.log.debug("a worker disconnected", { code, reason, workerName: session.name });
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length < SMALL_FRAME_BYTES && bytes.toString("utf8").trim() === "";
}
