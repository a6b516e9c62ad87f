import { CallError, type FunctionId } from "@svc-runtime/protocol";
import type { Provider } from "../call.ts";
import { type Clock, every } from "../clock.ts";
import type { DirectoryChanges } from "../directory-changes.ts";
import type { Logger } from "../logger.ts";
import type { Registry } from "../registry.ts";
import type { Session } from "../session.ts";
import type { Sessions } from "../sessions.ts";
import type { TriggerRegistry } from "../triggers/trigger-registry.ts";

/** How often connections are checked, in milliseconds. */
const CHECK_EVERY_MS = 100;
/** How often an SDK is asked to leave, in milliseconds. */
const ASK_EVERY_MS = 500;
/**
 * An idle connection that has not left this long after it was first asked is closed, in milliseconds, because its SDK
 * probably knows no other engine.
 */
const LEAVE_MS = 1_000;
/**
 * How long the last worker of a function stays connected after another worker with the function left, in milliseconds.
 * The other worker needs this time to connect to another node.
 */
const ARRIVE_MS = 5_000;
/** A connection that has not introduced itself after this time is treated as that of a worker, in milliseconds. */
const INTRODUCTION_MS = 1_000;

export interface DrainPorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly sessions: Sessions;
  readonly registry: Pick<Registry, "find">;
  readonly changes: DirectoryChanges;
  readonly triggers: Pick<TriggerRegistry, "configuredWorkerOf">;
  /** Returns whether a peer takes workers. */
  readonly hasPeerUp: () => boolean;
  /**
   * Asks the peers. Resolves with true if a peer promises to take workers, so that it is not drained at the same time.
   */
  readonly askToStay: () => Promise<boolean>;
  /** Notifies the peers, which send no new calls to a draining node if another node can run them. */
  readonly notifyPeers: (isDraining: boolean) => void;
}

export type DrainState = "up" | "draining" | "drained";

interface Asked {
  readonly firstAt: number;
  lastAt: number;
}

/**
 * Moves the workers of a node to other nodes. A worker gets no new calls, and leaves for another node when it has no
 * calls in flight. A worker that does not leave is disconnected. The console and the CLI stay connected; their calls go
 * to workers on other nodes.
 */
export class Drain {
  readonly #ports: DrainPorts;
  #state: DrainState = "up";
  /** Number of times that draining was ended (`end`). */
  #ends = 0;
  /** When the remaining workers are disconnected even if they have calls in flight, on the monotonic clock. */
  #until = 0;
  #asked = new WeakMap<Session, Asked>();
  /** When a worker that provides the function was last asked to leave, on the monotonic clock. */
  readonly #leftAt = new Map<FunctionId, number>();
  #stopChecking = (): void => {};
  /** Set when the engine stops: what to do when the workers have left. */
  #onEnd: (() => void) | undefined;

  constructor(ports: DrainPorts) {
    this.#ports = ports;
  }

  get state(): DrainState {
    return this.#state;
  }

  /**
   * Begins to drain. Workers that still run calls after `timeoutMs` are disconnected, so these calls fail. A second
   * start only changes the time limit. Rejects with CallError in three cases: `force` is false and there is no other
   * node for the workers; `end` is called before draining has begun; the engine stops.
   */
  async start(timeoutMs: number, { force }: { readonly force: boolean }): Promise<void> {
    this.#refuseAtEnd();
    const ends = this.#ends;
    if (this.#state === "up" && !force && !(await this.#ports.askToStay()))
      throw new CallError(
        "invalid_request",
        "no other engine of the cluster stays up (the others are drained or draining, or do not answer), so there is none for its workers; to drain it nevertheless, set `force` (of svc: --force)",
      );
    this.#refuseAtEnd();
    if (this.#ends !== ends) throw new CallError("invalid_request", "it was taken back before it was drained");
    this.#start(timeoutMs);
  }

  /**
   * Ends draining: workers may connect, and peers send calls to the node again. Throws CallError if the engine stops.
   */
  end(): void {
    this.#refuseAtEnd();
    this.#ends += 1;
    if (this.#state === "up") return;
    this.#state = "up";
    this.#stopChecking();
    this.#asked = new WeakMap();
    this.#leftAt.clear();
    for (const session of this.#ports.sessions.all()) this.#setLeaving(session, false);
    this.#ports.notifyPeers(false);
    this.#ports.log.info("no longer draining");
  }

  /**
   * Drains the node before the engine stops. Resolves in three cases: no worker is connected; there is no other node
   * for the workers; `timeoutMs` has passed.
   */
  async finish(timeoutMs: number): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = resolve;
    });
    const cancel = this.#ports.clock.after(timeoutMs, () => this.#onEnd?.());
    this.#start(timeoutMs);
    if (this.#state === "drained") this.#onEnd?.();
    await ended;
    cancel();
  }

  /**
   * Asks the workers that can leave to connect to another engine, because this engine is cut off from the other
   * engines. A worker need not leave: it decides itself.
   */
  askAllToLeave(withinMs: number): void {
    for (const session of this.#ports.sessions.values())
      if (this.#mustLeave(session) && this.#canLeave(session)) session.send({ type: "draining", within_ms: withinMs });
  }

  /** Ends the checks. The state stays. */
  stop(): void {
    this.#stopChecking();
    this.#onEnd?.();
  }

  #refuseAtEnd(): void {
    if (this.#onEnd !== undefined) throw new CallError("draining", "it is being stopped");
  }

  #start(timeoutMs: number): void {
    const { clock, log, notifyPeers } = this.#ports;
    if (this.#state === "drained") return;
    this.#until = clock.monotonic() + timeoutMs;
    if (this.#state === "up") {
      log.info("draining: the workers of this engine go to others", { timeout_ms: timeoutMs });
      this.#state = "draining";
      notifyPeers(true);
      const stopTimer = every(clock, CHECK_EVERY_MS, () => this.#check());
      const stopListening = this.#ports.changes.listen(({ kind, id }) => {
        if (kind === "worker") this.#arrived(this.#ports.sessions.byId(id));
      });
      this.#stopChecking = () => {
        stopTimer();
        stopListening();
      };
    }
    this.#check();
  }

  #check(): void {
    const leaving = this.#ports.sessions.all().filter((session) => this.#mustLeave(session));
    for (const session of leaving)
      if (session.isLeaving || !this.#isAwaited(session)) {
        this.#setLeaving(session, true);
        this.#askToLeave(session);
      }
    if (!this.#ports.hasPeerUp()) this.#onEnd?.();
    // Workers that connected after the time limit do not count. They are disconnected too, but may reconnect each time,
    // so the node would never become drained.
    const isLeft = ({ scope, connectedAt }: Session): boolean => !scope.ended && connectedAt <= this.#until;
    if (this.#state !== "draining" || leaving.some(isLeft)) return;
    this.#state = "drained";
    this.#ports.log.info("drained: the workers of this engine have left");
    this.#onEnd?.();
  }

  /** Handles a worker that connects to a draining node. It must get no calls, not even before the next check. */
  #arrived(session: Session | undefined): void {
    if (session !== undefined && this.#mustLeave(session) && !this.#isAwaited(session)) this.#setLeaving(session, true);
  }

  #mustLeave({ introduction, connectedAt }: Session): boolean {
    if (introduction !== undefined) return introduction.kind === "worker";
    return this.#ports.clock.monotonic() - connectedAt >= INTRODUCTION_MS;
  }

  /**
   * Returns whether the worker must wait before it leaves, because it is the last one that can run one of its
   * functions. It waits for a worker that left with the same function and has not connected to another node yet.
   */
  #isAwaited({ workerId, functionIds }: Session): boolean {
    const { clock, registry } = this.#ports;
    const now = clock.monotonic();
    if (now >= this.#until) return false;
    for (const id of functionIds) {
      const leftAt = this.#leftAt.get(id);
      if (leftAt === undefined || now - leftAt >= ARRIVE_MS) continue;
      const others = registry.find(id)?.registrations.filter(({ provider }) => provider.workerId !== workerId) ?? [];
      if (!others.some(({ provider }) => isAvailable(provider))) return true;
    }
    return false;
  }

  #setLeaving(session: Session, isLeaving: boolean): void {
    if (session.isLeaving === isLeaving) return;
    session.isLeaving = isLeaving;
    const now = this.#ports.clock.monotonic();
    for (const id of session.functionIds) {
      if (isLeaving) this.#leftAt.set(id, now);
      this.#ports.changes.emit({ kind: "function", id, op: "updated" });
    }
  }

  #askToLeave(session: Session): void {
    const now = this.#ports.clock.monotonic();
    const asked = this.#asked.get(session) ?? { firstAt: now, lastAt: Number.NEGATIVE_INFINITY };
    this.#asked.set(session, asked);
    const hadLeaveTime = now - asked.firstAt >= LEAVE_MS;
    const canLeave = this.#canLeave(session);
    const hadTime = !canLeave || hadLeaveTime;
    const isForced = now >= this.#until && (asked.firstAt <= this.#until || hadLeaveTime);
    if (isForced || (session.isIdle && hadTime)) {
      if (!session.isIdle)
        session.log.warn("a worker was disconnected with calls in flight: the time to drain is over");
      session.drop("the engine is drained");
    } else if (canLeave && now - asked.lastAt >= ASK_EVERY_MS) {
      asked.lastAt = now;
      session.send({ type: "draining", within_ms: undefined });
    }
  }

  /** Returns false for a worker that this engine started, because such a worker connects to this engine only. */
  #canLeave({ features, workerId }: Session): boolean {
    return features.has("draining") && this.#ports.triggers.configuredWorkerOf(workerId) === undefined;
  }
}

function isAvailable(provider: Provider): boolean {
  return provider.isLeaving !== true && provider.remote?.isDraining !== true && provider.refusal() === undefined;
}
