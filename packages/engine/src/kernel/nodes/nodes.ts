import type { ChannelRef, TriggerTypeId } from "@svc-runtime/protocol";
import type { NodeFrame, NodeFrameOf, NodeFrameType } from "@svc-runtime/protocol/nodes";
import type { Channel } from "../channels/channel.ts";
import type { Channels } from "../channels/channels.ts";
import type { Clock } from "../clock.ts";
import type { WorkerView } from "../directory.ts";
import type { DirectoryChanges } from "../directory-changes.ts";
import type { IdOwnership } from "../id-ownership.ts";
import type { Logger } from "../logger.ts";
import type { Registry } from "../registry.ts";
import type { Router } from "../router.ts";
import type { Undo } from "../scope.ts";
import type { Sessions } from "../sessions.ts";
import type { ThrottledLog } from "../throttled-log.ts";
import type { TriggerRegistry } from "../triggers/trigger-registry.ts";
import type { WorkerLimits } from "../worker-limits.ts";
import { AskNodes } from "./ask-nodes.ts";
import { ClockCheck } from "./clock-check.ts";
import { Drain } from "./drain.ts";
import { Mirror } from "./mirror.ts";
import type { NodeLink } from "./node-link.ts";
import { OutgoingCalls } from "./outgoing-calls.ts";
import type { Peer } from "./peer.ts";
import { PeerMirror } from "./peer-mirror.ts";
import { type NodeIdentity, type PeerListener, PeerTable } from "./peer-table.ts";
import { RemoteCalls } from "./remote-calls.ts";
import { RemoteChannels } from "./remote-channels.ts";
import { StayPromises } from "./stay-promises.ts";

/** Number of digits at the end of a channel's id that identify its node. They are the last digits of the node's run. */
const HOME_DIGITS = 12;

/** How an engine takes part in a cluster. */
export interface NodeOptions {
  readonly link: NodeLink;
  /** See `NodeIdentity`. */
  readonly node: string;
  readonly name: string;
  /** Runs an action after the present tick. Default `setImmediate`. */
  readonly defer?: (action: () => void) => void;
}

/** A peer: another node of the cluster, as this node sees it. */
export interface PeerView {
  readonly run: string;
  /** Id of the node. */
  readonly node: string;
  readonly name: string;
  readonly state: "up" | "draining";
  /** Number of the peer's calls in flight. */
  readonly load: number;
  readonly startedAtMs: number;
  /** How far the peer's clock is ahead of this node's clock. 0 if it is not known. */
  readonly clockOffsetMs: number;
}

/** A node that was a peer of this run and is no longer connected. */
export interface GoneNode {
  /** Id of the node. */
  readonly node: string;
  readonly name: string;
  readonly run: string;
  readonly goneAtMs: number;
  readonly reason: string;
}

/** Maximum number of former peers that are remembered. */
const MAX_GONE = 32;

export interface NodePorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly throttledLog: ThrottledLog;
  readonly router: Router;
  readonly registry: Registry;
  readonly triggers: TriggerRegistry;
  readonly sessions: Sessions;
  readonly changes: DirectoryChanges;
  readonly channels: Channels;
  readonly ownership: IdOwnership;
  readonly limits: WorkerLimits;
}

interface PeerParts {
  readonly peer: Peer;
  readonly questions: AskNodes;
  readonly outgoing: OutgoingCalls;
  readonly incoming: RemoteCalls;
  readonly mirror: PeerMirror;
  readonly channels: RemoteChannels;
}

/** Types of the frames that `PeerTable` passes on. */
type HandledType = Exclude<NodeFrameType, "hello" | "bye">;
type FrameHandler<Type extends HandledType> = (parts: PeerParts, frame: NodeFrameOf<Type>, payload: Uint8Array) => void;

const handlers: { readonly [Type in HandledType]: FrameHandler<Type> } = {
  mirror: ({ mirror }, _frame, payload) => mirror.apply(payload),
  call: ({ incoming }, frame, payload) => incoming.start(frame, payload),
  cancel: ({ incoming }, frame) => incoming.cancel(frame),
  accepted: ({ outgoing }, frame) => outgoing.accepted(frame),
  answer: ({ outgoing }, frame, payload) => outgoing.answered(frame, payload),
  bound: ({ mirror }, frame) => mirror.bound(frame),
  open: ({ channels }, frame) => channels.opened(frame),
  item: ({ channels }, frame, payload) => channels.item(frame, payload),
  credit: ({ channels }, frame) => channels.credit(frame),
  end: ({ channels }, frame) => channels.ended(frame),
  ask: ({ questions, peer }, frame, payload) => questions.asked(peer, frame, payload),
  tell: ({ questions, peer }, frame, payload) => questions.told(peer, frame, payload),
};

/**
 * Connects this node with the other nodes of the cluster. The workers of the other nodes become providers at this node,
 * and the workers of this node run calls of the other nodes.
 */
export class Nodes implements PeerListener {
  readonly #ports: NodePorts;
  readonly #self: Pick<NodeIdentity, "run" | "startedAtMs">;
  readonly #name: string;
  readonly #table: PeerTable;
  readonly #mirror: Mirror;
  readonly #parts = new Map<Peer, PeerParts>();
  readonly #goneListeners = new Set<(run: string) => void>();
  /** Former peers, by the id of the node. */
  readonly #gone = new Map<string, GoneNode>();
  readonly #clockCheck: ClockCheck;
  /** Questions of modules to the same modules of all nodes. */
  readonly questions: AskNodes;
  /** Moves the workers of this node to other nodes. */
  readonly drain: Drain;
  #undos: Undo[] = [];

  constructor(identity: Omit<NodeIdentity, "node" | "name">, options: NodeOptions, ports: NodePorts) {
    this.#ports = ports;
    this.#self = identity;
    this.#name = options.name;
    const defer = options.defer ?? setImmediate;
    this.#table = new PeerTable({
      self: { ...identity, node: options.node, name: options.name },
      link: options.link,
      clock: ports.clock,
      log: ports.log,
      throttledLog: ports.throttledLog,
      listener: this,
      load: () => Math.max(0, ports.router.counts.inFlight - this.#callsElsewhere()),
      clockState: () => this.#clockCheck.look(),
      defer,
    });
    this.#clockCheck = new ClockCheck(ports.clock, () =>
      [...this.#table.up()].map(({ clockOffsetMs, hello }) => ({
        offsetMs: clockOffsetMs,
        // A node with an earlier version does not tell.
        state: hello?.clock_state ?? "right",
      })),
    );
    this.questions = new AskNodes({
      clock: ports.clock,
      clockState: () => this.#clockCheck.state(),
      name: options.name,
      peers: () => this.#table.up(),
      gone: () => this.gone().map(({ name }) => name),
    });
    this.#mirror = new Mirror({ ...ports, defer, peers: () => this.#parts.keys() });
    ports.channels.setHome(homeOf(identity.run));
    const stays = new StayPromises({
      questions: this.questions,
      run: identity.run,
      isUp: () => this.drain.state === "up",
      peers: () => this.peers(),
    });
    this.drain = new Drain({
      ...ports,
      askToStay: () => stays.ask(),
      hasPeerUp: () => [...this.peers()].some(({ state }) => state === "up"),
      notifyPeers: (isDraining) => this.#table.setState(isDraining ? "draining" : "up"),
    });
  }

  /** This run of the node. */
  get self(): Pick<NodeIdentity, "run" | "startedAtMs"> {
    return this.#self;
  }

  start(): void {
    const { changes, channels } = this.#ports;
    this.#undos = [
      changes.listen((change) => this.#mirror.changed(change)),
      channels.addResolver((id, key, direction) => this.#openChannel({ channel_id: id, access_key: key, direction })),
    ];
    this.#mirror.begin();
    this.#table.start();
  }

  /** Notifies the peers that this node takes no new calls. */
  startDraining(): void {
    this.#table.setState("draining");
  }

  /** Leaves the cluster. Calls in flight at peers fail. */
  stop(): void {
    this.drain.stop();
    this.#table.stop();
    for (const undo of this.#undos.splice(0)) undo();
  }

  /** Returns whether the run is a peer now. */
  hasPeer(run: string): boolean {
    return this.#table.byRun(run)?.hello !== undefined;
  }

  /** Calls the listener with the run of each peer that is gone. A run that is still alive may become a peer again. */
  onPeerGone(listener: (run: string) => void): Undo {
    const own = (run: string): void => listener(run);
    this.#goneListeners.add(own);
    return () => this.#goneListeners.delete(own);
  }

  /** Yields the peers that have introduced themselves. */
  *peers(): IterableIterator<PeerView> {
    for (const { run, hello, clockOffsetMs } of this.#table.up())
      if (hello !== undefined)
        yield {
          run,
          node: hello.node,
          name: hello.name,
          state: hello.state,
          load: hello.load,
          startedAtMs: hello.started_at_ms,
          clockOffsetMs: clockOffsetMs ?? 0,
        };
  }

  /**
   * Nodes that were peers and did not come back. A node whose name another one has is not among them: two had the same
   * name, or the node has a new data folder.
   */
  gone(): readonly GoneNode[] {
    const names = new Set([this.#name, ...[...this.#table.up()].map(({ name }) => name)]);
    return [...this.#gone.values()].filter(({ name }) => !names.has(name));
  }

  /** Workers that are connected to the peers. */
  workers(): WorkerView[] {
    return [...this.#parts.values()].flatMap(({ peer, mirror }) =>
      mirror.workers().map((worker) => ({ ...worker, node: peer.name })),
    );
  }

  workerById(id: string): WorkerView | undefined {
    for (const { peer, mirror } of this.#parts.values()) {
      const worker = mirror.workerById(id);
      if (worker !== undefined) return { ...worker, node: peer.name };
    }
    return undefined;
  }

  /** Call when providers of a trigger type have changed. */
  typeChanged(id: TriggerTypeId): void {
    this.#mirror.typeChanged(id);
    for (const { mirror } of this.#parts.values()) mirror.typeChanged(id);
  }

  onOpened(peer: Peer): void {
    const { router, channels, clock, limits } = this.#ports;
    const { maxCallsHeld } = limits;
    const outgoing = new OutgoingCalls(peer, { router, clock, maxCallsHeld });
    this.#mirror.introduceTo(peer);
    this.#parts.set(peer, {
      peer,
      questions: this.questions,
      outgoing,
      incoming: new RemoteCalls(peer, { router, maxCallsHeld }),
      mirror: new PeerMirror(peer, outgoing, { ...this.#ports, self: this.#self.run }),
      channels: new RemoteChannels(peer, channels, this.#self.run),
    });
  }

  onHello(): void {
    this.#clockCheck.look();
  }

  onUp({ hello }: Peer): void {
    if (hello !== undefined) this.#gone.delete(hello.node);
  }

  onFrame(peer: Peer, frame: NodeFrame, payload: Uint8Array): void {
    const parts = this.#parts.get(peer);
    if (parts === undefined || frame.type === "hello" || frame.type === "bye") return;
    const handle = handlers[frame.type] as FrameHandler<typeof frame.type>;
    handle(parts, frame, payload);
  }

  onGone(peer: Peer, reason: string): void {
    const parts = this.#parts.get(peer);
    this.#parts.delete(peer);
    // Remove the registrations first, so that no call is routed to the peer any more.
    parts?.mirror.end();
    parts?.outgoing.end(reason);
    parts?.incoming.end();
    parts?.channels.end(reason);
    this.questions.gone(peer);
    this.#rememberGone(peer, reason);
    for (const listener of this.#goneListeners) listener(peer.run);
  }

  #rememberGone({ run, hello }: Peer, reason: string): void {
    if (hello === undefined) return;
    const { node, name } = hello;
    this.#gone.delete(node);
    this.#gone.set(node, { node, name, run, goneAtMs: this.#ports.clock.now(), reason });
    const [oldest] = this.#gone.keys();
    if (this.#gone.size > MAX_GONE && oldest !== undefined) this.#gone.delete(oldest);
  }

  #callsElsewhere(): number {
    let calls = 0;
    for (const { outgoing } of this.#parts.values()) calls += outgoing.size;
    return calls;
  }

  #openChannel(ref: ChannelRef): Channel | undefined {
    const home = ref.channel_id.slice(-HOME_DIGITS);
    for (const [peer, { channels }] of this.#parts) if (homeOf(peer.run) === home) return channels.open(ref);
    return undefined;
  }
}

function homeOf(run: string): string {
  return run.slice(-HOME_DIGITS);
}
