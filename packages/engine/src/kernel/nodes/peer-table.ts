import {
  decodeNodeMessage,
  encodeNodeHello,
  NODE_VERSIONS,
  type NodeFrame,
  type NodeHello,
  type NodeMessageHead,
  type NodePiece,
} from "@svc-runtime/protocol/nodes";
import { type Clock, every } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { ClockState } from "../nodes-contract.ts";
import type { Undo } from "../scope.ts";
import type { ThrottledLog } from "../throttled-log.ts";
import type { NodeLink } from "./node-link.ts";
import { Peer } from "./peer.ts";

/** Interval between two hello messages to all runs, in milliseconds. */
const HELLO_EVERY_MS = 1_000;
/** Interval between two probes of each peer, in milliseconds. */
const PROBE_EVERY_MS = 500;
/** Reason why the sessions with the peers end when this node stops. */
const STOPPING = "this engine stops";
/**
 * A peer is gone when its run has not been listening for this long, in milliseconds. More than 2 s, because a
 * node that connects to another server of the link needs up to 2 s.
 */
const ABSENT_MS = 2_800;
/** A peer is gone when no message or probe answer of it arrived for this long, in milliseconds. */
const SILENT_MS = 6_000;
/** A peer that violated the protocol is ignored for this long, in milliseconds. */
const REFUSE_BROKEN_MS = 10_000;
const MAX_PEERS = 32;
/** Number of former runs whose last session is remembered, so that a late message does not begin a session again. */
const MAX_FORMER_RUNS = 1_000;
/**
 * Maximum number of bytes that one peer, and all peers together, may send before this node has processed them. Less
 * than the 64 MiB that the link buffers.
 */
const MAX_WINDOW_BYTES = 16 * 1024 * 1024;
const MAX_WINDOWS_BYTES = 48 * 1024 * 1024;

/** This node, as its peers see it. */
export interface NodeIdentity {
  readonly run: string;
  /**
   * Id of the node: the same for all runs on one data folder. The lock of the folder ensures that the former run has
   * ended when a new run begins.
   */
  readonly node: string;
  readonly name: string;
  readonly startedAtMs: number;
}

/** Callbacks for peers. The order for a peer: `onOpened`, `onUp`, `onFrame` for each frame, `onGone`. */
export interface PeerListener {
  /** A session begins. Frames that are sent in this callback reach the peer directly after this run's hello. */
  onOpened(peer: Peer): void;
  /** A hello of the peer arrived. The peer sends one each second. */
  onHello?(peer: Peer): void;
  /** The peer has introduced itself. */
  onUp?(peer: Peer): void;
  /** Handles a frame other than `hello` and `bye`. Must throw an Error if the peer violates the protocol. */
  onFrame(peer: Peer, frame: NodeFrame, payload: Uint8Array): void;
  /** The peer's load or state changed. */
  onChanged?(peer: Peer): void;
  /** The peer is gone or its session has ended. If the peer is still alive, another session follows. */
  onGone(peer: Peer, reason: string): void;
}

export interface PeerTableOptions {
  readonly self: NodeIdentity;
  readonly link: NodeLink;
  readonly clock: Clock;
  readonly log: Logger;
  readonly throttledLog: ThrottledLog;
  readonly listener: PeerListener;
  /** Calls in flight at this node. */
  readonly load: () => number;
  /** What this node knows about its clock, also while it acts by a wrong one. */
  readonly clockState: () => ClockState;
  /** Runs an action after the present tick, so that all frames of a tick are sent together. Default `setImmediate`. */
  readonly defer?: ((action: () => void) => void) | undefined;
}

/**
 * Table of the other runs of the cluster and of the session with each of them. It is used for routing only. It does not
 * decide whether a run may still write data: the replicated log does.
 */
export class PeerTable {
  readonly #options: PeerTableOptions;
  readonly #peers = new Map<string, Peer>();
  /** Number of the last session of each run that is gone. */
  readonly #formerSessions = new Map<string, number>();
  /** End of the time in which a run that violated the protocol is ignored, on the monotonic clock. */
  readonly #refusedUntil = new Map<string, number>();
  #nextSession = 1;
  #state: NodeHello["state"] = "up";
  #undos: Undo[] = [];

  constructor(options: PeerTableOptions) {
    this.#options = options;
  }

  /** Peers that have introduced themselves. */
  *up(): IterableIterator<Peer> {
    for (const peer of this.#peers.values()) if (peer.hello !== undefined) yield peer;
  }

  byRun(run: string): Peer | undefined {
    return this.#peers.get(run);
  }

  start(): void {
    const { link, clock, self } = this.#options;
    this.#undos = [
      link.listen(self.run, (message) => this.#receive(message)),
      every(clock, HELLO_EVERY_MS, () => link.sendToAll(encodeNodeHello(this.#hello()))),
      every(clock, PROBE_EVERY_MS, () => this.#checkPeers()),
    ];
    link.sendToAll(encodeNodeHello(this.#hello()));
  }

  /** Notifies the peers whether this node takes new calls. */
  setState(state: NodeHello["state"]): void {
    if (this.#state === state) return;
    this.#state = state;
    for (const peer of this.#peers.values()) peer.send({ type: "hello", hello: this.#hello() });
  }

  /** Notifies the peers that this run ends, and ends all sessions. */
  stop(): void {
    for (const peer of [...this.#peers.values()]) {
      peer.send({ type: "bye" });
      peer.flush();
      this.#remove(peer, STOPPING);
    }
    for (const undo of this.#undos.splice(0)) undo();
  }

  #hello(): NodeHello {
    const { self, load, clock, clockState } = this.#options;
    return {
      run: self.run,
      node: self.node,
      name: self.name,
      started_at_ms: self.startedAtMs,
      versions: NODE_VERSIONS,
      state: this.#state,
      load: load(),
      now_ms: clock.now(),
      clock_state: clockState(),
    };
  }

  #checkPeers(): void {
    const { link, clock } = this.#options;
    const now = clock.monotonic();
    for (const peer of [...this.#peers.values()]) {
      const stall = peer.stallProblem;
      if (now - peer.heardAt >= SILENT_MS) this.#remove(peer, `it was silent for ${SILENT_MS / 1000} s`);
      else if (stall !== undefined) this.#remove(peer, stall);
      else link.probe(peer.run, (isThere) => this.#probed(peer, isThere));
    }
  }

  #probed(peer: Peer, isThere: boolean): void {
    if (isThere) {
      peer.noteHeard();
      return;
    }
    // Probe the peer once more before it is removed, because the absence may have another cause: this node lost its own
    // connection, or was too busy to read the peer's messages.
    peer.noteAbsent(ABSENT_MS, () =>
      this.#options.link.probe(peer.run, (isBack) => {
        if (isBack) peer.noteHeard();
        else this.#remove(peer, `it has been disconnected for ${ABSENT_MS / 1000} s`);
      }),
    );
  }

  #receive(bytes: Uint8Array): void {
    const message = decodeNodeMessage(bytes);
    if ("problem" in message) {
      this.#warn("a message between nodes was ignored", "undecodable", { problem: message.problem });
      return;
    }
    if (message.kind === "hello") this.#receiveHello(message.hello);
    else this.#receiveNumbered(message.head, message.pieces);
  }

  #receiveHello(hello: NodeHello): void {
    const { run } = hello;
    if (run === this.#options.self.run) return;
    const peer = this.#peers.get(run);
    if (peer === undefined) {
      if (this.#mayTalkTo(hello)) this.#open(run);
      return;
    }
    peer.noteHeard();
    if (peer.hello !== undefined) this.#update(peer, hello);
  }

  #receiveNumbered(head: NodeMessageHead, pieces: readonly NodePiece[]): void {
    const { from: run, session, peer_session: known, n } = head;
    if (run === this.#options.self.run) return;
    let peer = this.#peers.get(run);
    if (peer !== undefined) {
      // The peer sent this message before it knew the current session of this node.
      if (known !== undefined && known !== peer.session) return;
      const former = peer.peerSession;
      if (former !== undefined && session < former) return;
      if (former !== undefined && session > former) {
        this.#remove(peer, "it began a new session");
        peer = undefined;
      }
    }
    if (peer === undefined) {
      // Only the first message of a session begins one. Other messages belong to a session that this node has ended;
      // the peer's next hello begins a new one.
      if (n !== 1 || known !== undefined || session <= (this.#formerSessions.get(run) ?? 0)) return;
      peer = this.#open(run);
    }
    if (peer === undefined) return;
    peer.noteHeard();
    peer.receive(head, pieces);
  }

  #open(run: string): Peer | undefined {
    const { clock, link, self, listener, log } = this.#options;
    if (clock.monotonic() < (this.#refusedUntil.get(run) ?? 0)) return undefined;
    if (this.#peers.size >= MAX_PEERS) {
      this.#warn("a node was ignored, because the cluster has too many", "peers", { run, limit: MAX_PEERS });
      return undefined;
    }
    const peer: Peer = new Peer(self.run, run, this.#nextSession++, {
      clock,
      defer: this.#options.defer ?? setImmediate,
      transmit: (message) => link.send(run, message),
      windowBytes: () => Math.min(MAX_WINDOW_BYTES, Math.floor(MAX_WINDOWS_BYTES / this.#peers.size)),
      onFrame: (frame, payload) => this.#receiveFrame(peer, frame, payload),
      onBroken: (problem) => {
        log.error("a node broke the protocol between nodes", { node: peer.name, run, problem });
        bound(this.#refusedUntil, MAX_FORMER_RUNS).set(run, clock.monotonic() + REFUSE_BROKEN_MS);
        this.#remove(peer, problem);
      },
    });
    this.#peers.set(run, peer);
    peer.send({ type: "hello", hello: this.#hello() });
    listener.onOpened(peer);
    return peer;
  }

  #receiveFrame(peer: Peer, frame: NodeFrame, payload: Uint8Array): void {
    const { listener, log } = this.#options;
    if (frame.type === "hello") {
      if (frame.hello.run !== peer.run) throw new Error("its hello names another run");
      if (peer.hello !== undefined) {
        this.#update(peer, frame.hello);
        return;
      }
      if (!this.#mayTalkTo(frame.hello)) {
        this.#remove(peer, "it is not a peer");
        return;
      }
      peer.introduced(frame.hello);
      listener.onHello?.(peer);
      log.info("a node joined", { node: peer.name, run: peer.run });
      listener.onUp?.(peer);
      return;
    }
    if (peer.hello === undefined) throw new Error(`its first frame is ${frame.type} instead of hello`);
    if (frame.type === "bye") this.#remove(peer, "it stops");
    else listener.onFrame(peer, frame, payload);
  }

  #update(peer: Peer, hello: NodeHello): void {
    const isSame = peer.hello?.state === hello.state && peer.hello.load === hello.load;
    peer.introduced(hello);
    this.#options.listener.onHello?.(peer);
    if (!isSame) this.#options.listener.onChanged?.(peer);
  }

  /** Returns whether the run may become a peer. If so, removes the former run of its node. */
  #mayTalkTo({ run, node, name, versions, started_at_ms: startedAtMs }: NodeHello): boolean {
    const { self } = this.#options;
    if (node === self.node) {
      this.#warn("a node was ignored: it has this node's data folder, or a copy of it", run, { node: name, run });
      return false;
    }
    if (versions.min > NODE_VERSIONS.max || versions.max < NODE_VERSIONS.min) {
      this.#warn("a node was ignored, because its version cannot talk to this one", run, { node: name, run, versions });
      return false;
    }
    for (const other of this.#peers.values()) {
      if (other.run === run || other.hello?.node !== node) continue;
      if (other.hello.started_at_ms >= startedAtMs) return false;
      this.#remove(other, "its node started again");
    }
    return true;
  }

  #remove(peer: Peer, reason: string): void {
    if (this.#peers.get(peer.run) !== peer) return;
    this.#peers.delete(peer.run);
    peer.end();
    if (peer.peerSession !== undefined) bound(this.#formerSessions, MAX_FORMER_RUNS).set(peer.run, peer.peerSession);
    // The peers of a node that stops are still there.
    if (peer.hello !== undefined && reason !== STOPPING)
      this.#options.log.warn("a node is gone", { node: peer.name, run: peer.run, reason });
    this.#options.listener.onGone(peer, reason);
  }

  #warn(message: string, source: string, fields: Readonly<Record<string, unknown>>): void {
    this.#options.throttledLog.warn(this.#options.log, source, message, fields);
  }
}

/** Returns the map. Removes the oldest entry first if the map has `limit` entries. */
function bound<Value>(map: Map<string, Value>, limit: number): Map<string, Value> {
  const [oldest] = map.keys();
  if (map.size >= limit && oldest !== undefined) map.delete(oldest);
  return map;
}
