import {
  decodeNodeFrame,
  encodeNodeFrame,
  encodeNodeMessage,
  type NodeFrame,
  type NodeHello,
  type NodeMessageHead,
  type NodePiece,
} from "@svc-runtime/protocol/nodes";
import type { Clock } from "../clock.ts";
import { type Arrival, FrameReceiver } from "./frame-receiver.ts";
import { FrameSender } from "./frame-sender.ts";

/** Maximum delay of an acknowledgement, in milliseconds. It is delayed so that it can be sent with the next frames. */
const ACKNOWLEDGE_AFTER_MS = 20;

/** A peer that acknowledges nothing for this long is treated as gone, in milliseconds. */
const STALLED_MS = 6_000;

export interface PeerPorts {
  readonly clock: Clock;
  /** Runs the action when all frames of the present tick are queued. */
  readonly defer: (action: () => void) => void;
  readonly transmit: (message: Uint8Array) => void;
  /** Returns how many bytes the peer may send before this node has processed them. */
  readonly windowBytes: () => number;
  /** Called for each frame, in order. The payload is a view of the received message. Throws to end the session. */
  readonly onFrame: (frame: NodeFrame, payload: Uint8Array) => void;
  /** Called if the peer violated the protocol. Must end the session. */
  readonly onBroken: (problem: string) => void;
}

/**
 * The connection with one run of another node. It has a session for each direction, in which frames arrive once and in
 * order. If this is not possible, the peer is treated as gone.
 */
export class Peer {
  readonly run: string;
  /** The number of this side's session. */
  readonly session: number;
  /** The number of the peer's session, once it is known. */
  peerSession: number | undefined;
  /** The last hello of the peer. Undefined before the first hello; until then the peer is not used. */
  hello: NodeHello | undefined;
  /** Time of the peer's clock when this node's monotonic clock was 0, as far as it is known. */
  #clockOriginMs: number | undefined;
  /** When the peer was heard last, on the monotonic clock. */
  heardAt: number;
  readonly #self: string;
  readonly #ports: PeerPorts;
  readonly #sender: FrameSender;
  readonly #receiver: FrameReceiver;
  #isFlushing = false;
  #mustAcknowledge: "no" | "later" | "now" = "no";
  #cancelAcknowledge: (() => void) | undefined;
  #sawGap = false;
  /** The message before the gap that was last reported, so that each gap is reported once. */
  #gapAfter = -1;
  #acknowledgedN = 0;
  #ended = false;
  /** Set while the peer's run is not listening on the link. */
  #cancelAbsence: (() => void) | undefined;

  constructor(self: string, run: string, session: number, ports: PeerPorts) {
    this.#self = self;
    this.run = run;
    this.session = session;
    this.#ports = ports;
    this.heardAt = ports.clock.monotonic();
    this.#sender = new FrameSender(ports.clock, (n, pieces) => this.#transmit(n, pieces));
    this.#receiver = new FrameReceiver((bytes) => this.#receiveFrame(bytes), ports.windowBytes);
  }

  get name(): string {
    return this.hello?.name ?? this.run;
  }

  /**
   * How far the peer's clock is ahead of this node's clock, minus the transit time of the peer's last hello. Undefined
   * if the peer does not send its time. Correct at once if this node's clock is set.
   */
  get clockOffsetMs(): number | undefined {
    const { clock } = this.#ports;
    if (this.#clockOriginMs === undefined) return undefined;
    return Math.round(this.#clockOriginMs + clock.monotonic() - clock.now());
  }

  /** Call for each hello of the peer. A peer with an earlier version does not send its time. */
  introduced(hello: NodeHello): void {
    this.hello = hello;
    this.#clockOriginMs = hello.now_ms === undefined ? undefined : hello.now_ms - this.#ports.clock.monotonic();
  }

  get isDraining(): boolean {
    return this.hello?.state !== "up";
  }

  /** True if the peer takes frames more slowly than they are sent, so that it should get no further call. */
  get isFull(): boolean {
    return this.#sender.isFull;
  }

  /** Returns whether a large answer may be sent. */
  hasRoomFor(bytes: number): boolean {
    return this.#sender.hasRoomFor(bytes);
  }

  noteHeard(): void {
    this.heardAt = this.#ports.clock.monotonic();
    this.#cancelAbsence?.();
    this.#cancelAbsence = undefined;
  }

  /** Call when the peer's run is not listening. `onGone` is called once, after `ms` without a sign of life. */
  noteAbsent(ms: number, onGone: () => void): void {
    if (this.#ended) return;
    this.#cancelAbsence ??= this.#ports.clock.after(ms, () => {
      this.#cancelAbsence = undefined;
      onGone();
    });
  }

  /** Returns a function that returns whether it is certain that the next frame never left this node. */
  trackNextFrame(): () => boolean {
    return this.#sender.trackNextFrame();
  }

  /** Queues a frame. Has no effect after the end of the session. */
  send(frame: NodeFrame, payload?: Uint8Array): void {
    if (this.#ended) return;
    this.#sender.add(encodeNodeFrame(frame, payload));
    this.#flushLater();
  }

  /** Sends the queued frames without waiting for the end of the tick. */
  flush(): void {
    this.#isFlushing = false;
    if (this.#ended) return;
    if (this.#sender.flush()) return;
    if (this.#mustAcknowledge === "now") this.#transmit(0, []);
    else if (this.#mustAcknowledge === "later")
      this.#cancelAcknowledge ??= this.#ports.clock.after(ACKNOWLEDGE_AFTER_MS, () => this.#transmit(0, []));
  }

  /** Handles a message of the peer's current session. */
  receive(head: NodeMessageHead, pieces: readonly NodePiece[]): void {
    this.peerSession = head.session;
    const problem = this.#sender.acknowledge(head.ack, head.granted, head.missing === true);
    if (problem !== undefined) {
      this.#break(problem);
      return;
    }
    // The grant may be higher now, so that waiting frames can be sent.
    this.#flushLater();
    if (head.n === 0) return;
    let arrival: Arrival;
    try {
      arrival = this.#receiver.receive(head.n, pieces);
    } catch (error) {
      this.#break((error as Error).message);
      return;
    }
    if (arrival === "new") {
      if (this.#mustAcknowledge === "no") this.#mustAcknowledge = "later";
      // A sender with several unacknowledged messages may be waiting for a grant, so the acknowledgement is not
      // delayed.
      if (this.#receiver.lastN - this.#acknowledgedN > 4) this.#mustAcknowledge = "now";
    } else {
      this.#sawGap ||= arrival === "gap";
      this.#mustAcknowledge = "now";
    }
  }

  /**
   * Why the session must end: the peer accepts too little, although it may be alive. Undefined if it accepts enough.
   */
  get stallProblem(): string | undefined {
    if (this.#sender.isOverfull) return "it takes less than it is sent";
    return this.#sender.stalledMs < STALLED_MS ? undefined : `it has acknowledged nothing for ${STALLED_MS / 1000} s`;
  }

  /** Sends and receives nothing any more. */
  end(): void {
    this.#ended = true;
    this.#sender.stop();
    this.#cancelAcknowledge?.();
    this.#cancelAbsence?.();
  }

  #flushLater(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#ports.defer(() => this.flush());
  }

  #transmit(n: number, pieces: readonly NodePiece[]): void {
    const { lastN, granted } = this.#receiver;
    const isMissing = this.#sawGap && this.#gapAfter !== lastN;
    if (isMissing) this.#gapAfter = lastN;
    this.#sawGap = false;
    this.#mustAcknowledge = "no";
    this.#acknowledgedN = lastN;
    this.#cancelAcknowledge?.();
    this.#cancelAcknowledge = undefined;
    this.#ports.transmit(
      encodeNodeMessage(
        {
          from: this.#self,
          session: this.session,
          ...(this.peerSession === undefined ? {} : { peer_session: this.peerSession }),
          n,
          ack: lastN,
          granted,
          ...(isMissing ? { missing: true } : {}),
        },
        pieces,
      ),
    );
  }

  #receiveFrame(bytes: Uint8Array): void {
    if (this.#ended) return;
    const decoded = decodeNodeFrame(bytes);
    if ("problem" in decoded) {
      // A peer with a newer version may send frames of types that this version does not know. They may be ignored.
      if (decoded.unknown !== true) throw new Error(decoded.problem);
      return;
    }
    this.#ports.onFrame(decoded.frame, decoded.payload);
  }

  #break(problem: string): void {
    if (!this.#ended) this.#ports.onBroken(problem);
  }
}
