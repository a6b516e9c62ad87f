import { CallError } from "@svc-runtime/protocol";
import type { Undo } from "../../kernel/scope.ts";
import type {
  AppliedWrite,
  CallStoreOptions,
  InputOf,
  OutputOf,
  ProcedureTable,
  Store,
} from "../../kernel/store-contract.ts";
import { AppliedListeners } from "../applied-listeners.ts";
import { type Follow, type LogChanged, LogTruncated } from "../log.ts";
import { LogClock } from "../log-clock.ts";
import type { BatchTime } from "../log-time.ts";
import type { Request } from "../thread-messages.ts";
import { toJson } from "./entry-json.ts";
import { FINGERPRINT, FINGERPRINT_EVERY, type FingerprintInput } from "./fingerprint.ts";
import { Inbox } from "./inbox.ts";
import { LogWriter, MAX_BODY_BYTES } from "./log-writer.ts";
import { MEMBER_PROCEDURES } from "./members.ts";
import { type Outcome, OwnRequests, storageFailed, storeUnavailable } from "./own-requests.ts";
import { Progress } from "./progress.ts";
import type { AppliedEntry, LocalRead, Membership } from "./replica-messages.ts";
import type { RunState } from "./replica-tables.ts";
import type { ReplicatedStoreParts } from "./replicated-store-parts.ts";
import { checkLog } from "./seed-replica.ts";
import type { Snapshot } from "./snapshot.ts";

const STALL_MS = 20_000;
/** Maximum time that closing waits for the log if no request is pending, in milliseconds. */
const LEAVE_MS = 2_000;

/**
 * Maximum time to wait for the fingerprints of the other replicas, in milliseconds. It is long because they may lag
 * behind.
 */
const AGREE_MS = 300_000;

/** A comparison of this replica with the others. */
interface Comparison {
  /** The fingerprint of this replica, as soon as the replica has reached the position of the comparison. */
  print: Pick<FingerprintInput, "at" | "digest"> | undefined;
  /** Runs that have the same fingerprint. */
  readonly equal: Set<string>;
  /** True as soon as a majority of the members has the same fingerprint. */
  isAgreed: boolean;
}

/**
 * A store whose writes go through a log. The requests of one turn of the event loop become one entry, and only one
 * entry of a store is in flight at a time. A write settles when its entry has been read from the log and applied, even
 * if its append was not acknowledged. A read waits for an entry that is appended after the call, and runs at its place
 * among the writes of this node. So it sees every acknowledged write of all nodes.
 */
export class ReplicatedStore<Procedures extends ProcedureTable> implements Store<Procedures> {
  readonly run: string;
  readonly isShared = true;
  readonly #parts: ReplicatedStoreParts;
  readonly #listeners: AppliedListeners<Procedures>;
  readonly #own: OwnRequests;
  readonly #writer: LogWriter;
  readonly #inbox: Inbox;
  readonly #writes: ReadonlySet<string>;
  #time: LogClock;
  #lastTime: BatchTime | undefined;
  #membership: Membership;
  #follow: Follow | undefined;
  /** The entry in flight. */
  #inFlight: { readonly id: string; readonly reads: readonly LocalRead[] } | undefined;
  #isJoined = false;
  #flushScheduled = false;
  /** Set when nothing can be written any more. */
  #end: { readonly reason: string; readonly error: (outcome: Outcome) => CallError } | undefined;
  #damage: string | undefined;
  /** Set when entries that this store lacks were removed from the log. */
  #truncated: LogTruncated | undefined;
  #closing: Promise<void> | undefined;
  readonly #progress: Progress;
  /** Comparisons that `agree` waits for. */
  readonly #comparisons = new Set<Comparison>();
  readonly #goneListeners = new Set<(runs: readonly string[]) => void>();

  constructor(parts: ReplicatedStoreParts) {
    const { log, replica, run, logger, clock, timeoutClock } = parts;
    this.run = run;
    this.#parts = parts;
    this.#listeners = new AppliedListeners(logger);
    this.#membership = replica.opened.membership;
    this.#writes = new Set(replica.opened.writes);
    this.#time = new LogClock(clock, undefined, () => {});
    const { position, now, wall } = replica.opened.state;
    if (position > 0) this.#lastTime = { now, wall };
    const stallMs = parts.stallMs ?? STALL_MS;
    this.#progress = new Progress(timeoutClock, stallMs, () => this.#end?.error("not_written"));
    this.#own = new OwnRequests({
      clock: timeoutClock,
      maxRequests: parts.maxRequests ?? 10_000,
      maxBytes: parts.maxBytes ?? 64 * 1024 * 1024,
      stallMs,
    });
    this.#inbox = new Inbox({
      ...{ replica, reopen: parts.reopen, run, clock: timeoutClock, logger },
      readsOf: (id) => (id === this.#inFlight?.id ? this.#inFlight.reads : []),
      onApplied: (applied) => this.#onApplied(applied),
      onOwn: (n) => this.#writer.noteSeen(n),
      onReopened: (membership, hasMissed) => this.#onReopened(membership, hasMissed),
      onFatal: (reason) => this.#stop(reason),
    });
    this.#writer = new LogWriter({
      ...{ log, run, clock: timeoutClock },
      onAppended: (n, at) => {
        if (this.#inbox.lacks(n, at)) this.#stop(`the log went back: it stored a new entry at ${at} again`);
      },
      onChanged: ({ message }) => this.#stop(message),
    });
  }

  /**
   * Applies the entries that the replica lacks, and joins the members. Rejects with LogTruncated if entries that it
   * lacks are removed from the log meanwhile.
   */
  async open(): Promise<void> {
    try {
      await this.#catchUpAndJoin();
    } catch (error) {
      const isJoining = this.#inFlight !== undefined;
      throw isJoining ? error : (this.#truncated ?? error);
    }
  }

  async #catchUpAndJoin(): Promise<void> {
    const { log, replica, clock, node } = this.#parts;
    await checkLog(log, replica.opened.state);
    const { last } = await log.state();
    this.#follow = log.follow(
      this.#inbox.position + 1,
      (entry) => this.#inbox.add(entry),
      (error) => this.#onLogFailed(error),
    );
    await this.#progress.until(() => this.#inbox.position >= last);
    // The time of the log is known only after these entries were applied.
    this.#time = new LogClock(clock, this.#lastTime, () => this.#storeTime());
    const body = toJson([[MEMBER_PROCEDURES.join, { run: this.run, node }]]);
    this.#inFlight = { id: this.#writer.write("join", this.#time.read(), body), reads: [] };
    await this.#progress.until(() => this.#isJoined);
  }

  // Not an async function: the promise must settle in the same turn of the event loop in which the answer arrives. So
  // callers get answers in order.
  call<Name extends keyof Procedures & string>(
    name: Name,
    input: InputOf<Procedures[Name]>,
    options?: CallStoreOptions,
  ): Promise<OutputOf<Procedures[Name]>> {
    if (this.#closing !== undefined)
      return Promise.reject(new CallError("draining", "the store is closing and accepts no more requests"));
    const request = { procedure: name, input };
    const isWrite = this.#writes.has(name);
    // The cast is safe, because the output is that of the named procedure.
    const mayBeOld = this.#parts.reads === "session" && options?.isLatest !== true;
    if (!isWrite && mayBeOld && this.#own.isEmpty && this.#end === undefined)
      return this.#readNow(request) as Promise<OutputOf<Procedures[Name]>>;
    return this.#request(request, isWrite, options) as Promise<OutputOf<Procedures[Name]>>;
  }

  readLocal<Name extends keyof Procedures & string>(
    name: Name,
    input: InputOf<Procedures[Name]>,
  ): Promise<OutputOf<Procedures[Name]>> {
    if (this.#end !== undefined) return Promise.reject(this.#end.error("not_written"));
    if (this.#closing !== undefined) return this.call(name, input);
    return this.#readNow({ procedure: name, input }) as Promise<OutputOf<Procedures[Name]>>;
  }

  onApplied(listener: (applied: AppliedWrite<Procedures>) => void): Undo {
    return this.#listeners.add(listener);
  }

  onRunsGone(listener: (runs: readonly string[]) => void): Undo {
    // Wrap the listener, so that the same listener can be added twice.
    const own = (runs: readonly string[]): void => listener(runs);
    this.#goneListeners.add(own);
    return () => this.#goneListeners.delete(own);
  }

  /**
   * Votes for expelling a run. It is expelled when a majority of the members has voted for it. If there are only two
   * members, this vote is enough.
   */
  async expel(target: string): Promise<void> {
    await this.#request({ procedure: MEMBER_PROCEDURES.expel, input: { target, voter: this.run } }, true);
  }

  /** Resolves when all entries that were in the log at the time of the call are applied. */
  async catchUp(): Promise<void> {
    await this.#request({ procedure: MEMBER_PROCEDURES.nothing, input: null }, true);
  }

  /**
   * Resolves when a majority of the members is known to have had the same data as this replica at some position of the
   * log after the call. Rejects if that is not known within `agreeMs`.
   */
  async agree(): Promise<void> {
    const comparison: Comparison = { print: undefined, equal: new Set(), isAgreed: false };
    this.#comparisons.add(comparison);
    try {
      // The entry that `catchUp` appends makes all replicas append their fingerprints. A replica that lags behind
      // appends its fingerprint of this position later.
      await this.catchUp();
      if (await this.#progress.within(this.#parts.agreeMs ?? AGREE_MS, () => comparison.isAgreed)) return;
    } finally {
      this.#comparisons.delete(comparison);
    }
    throw storeUnavailable("a majority of the engines did not say that their data are equal", "not_written");
  }

  /** Writes a copy of the replica to a new file. Rejects as soon as the signal aborts. */
  async snapshot(file: string, signal: AbortSignal = new AbortController().signal): Promise<Snapshot> {
    return this.#inbox.snapshot(file, signal);
  }

  /** Id of this engine's data folder or machine. */
  get node(): string {
    return this.#parts.node;
  }

  skewMs(): number {
    return this.#time.skewMs();
  }

  /** Position of the last entry of the log that was applied. */
  position(): number {
    return this.#inbox.position;
  }

  members(): readonly string[] {
    return this.#membership.members;
  }

  problem(): string | undefined {
    return this.#end?.reason ?? this.#inbox.problem ?? (this.isStalled ? "the log does not answer" : undefined);
  }

  /** True if an entry has waited for the log longer than a request may. Further requests are refused. */
  get isStalled(): boolean {
    return this.#own.isStalled;
  }

  damage(): string | undefined {
    return this.#damage;
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#parts.onClosing?.();
      this.#closing = this.#leave().finally(() => this.#parts.onClosed?.());
    }
    return this.#closing;
  }

  /** Stops at once, without leaving the members, as if the process was killed. */
  async abort(): Promise<void> {
    this.#closing ??= Promise.resolve();
    this.#endWith("the store was ended", (outcome) => storageFailed("the store was ended", outcome));
    await this.#inbox.close();
  }

  #request(request: Request, isWrite: boolean, { bytes = 0, mark }: CallStoreOptions = {}): Promise<unknown> {
    if (this.#end !== undefined) return Promise.reject(this.#end.error("not_written"));
    return new Promise((resolve, reject) => {
      // toJson throws a TypeError if the input cannot be in a log. The promise then rejects.
      const text = isWrite ? toJson([request.procedure, request.input]) : undefined;
      const size = Math.max(bytes, text?.length ?? 0);
      const refusal = this.#own.add({ request, text, bytes: size, mark, resolve, reject });
      if (refusal !== undefined) reject(refusal);
      else this.#scheduleFlush();
    });
  }

  async #readNow(request: Request): Promise<unknown> {
    const answer = await this.#inbox.read(request, this.#time.read());
    if (answer?.status === "done") return answer.output;
    if (answer?.status === "refused") throw new CallError(answer.code, answer.message, { details: answer.details });
    throw storageFailed(answer?.message ?? "the replica gave no answer", "not_written");
  }

  /** Sends after the current callback of the event loop, so that all requests of the callback are in one entry. */
  #scheduleFlush(): void {
    if (this.#flushScheduled || this.#inFlight !== undefined) return;
    this.#flushScheduled = true;
    process.nextTick(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#inFlight !== undefined || !this.#isJoined || this.#end !== undefined || !this.#own.hasWaiting) return;
    const own = this.#own.take(MAX_BODY_BYTES);
    const reads = own.flatMap(({ request, text }, index) => (text === undefined ? [{ index, request }] : []));
    const texts = own.flatMap(({ text }) => text ?? []);
    this.#inFlight = { id: this.#writer.write("requests", this.#time.read(), `[${texts.join(",")}]`), reads };
  }

  #onApplied(applied: AppliedEntry): void {
    this.#lastTime = applied.time;
    const former = this.#membership.members;
    if (applied.membership !== undefined) this.#membership = applied.membership;
    // Ignored in entries from before the join: if the replicas differed then, the replica may have been restored since.
    if (applied.differs && this.#isJoined) this.#damage = "the replicas of this store differ";
    if (applied.id === this.#inFlight?.id) this.#settleOwn(applied);
    else if (applied.outcome === "applied") this.#reportForeign(applied);
    if (applied.membership !== undefined) this.#reportGone(former);
    const { own } = this.#membership;
    if (this.#isJoined && own !== "member" && own !== undefined) this.#noteExpelled(own);
    this.#fingerprint(applied);
    this.#noteFingerprints(applied);
    this.#flush();
    this.#progress.note();
  }

  #onReopened(membership: Membership, hasMissed: boolean): void {
    const former = this.#membership.members;
    this.#membership = membership;
    this.#reportGone(former);
    const { own } = membership;
    if (this.#isJoined && own !== "member" && own !== undefined) {
      this.#noteExpelled(own);
      return;
    }
    if (!hasMissed || !this.#isJoined || this.#end !== undefined) return;
    // The listeners missed changes and cannot know which. A new store makes them read everything again.
    const reason = "the replica restarted before it had reported writes of other engines; this engine must join again";
    this.#endWith(reason, (outcome) => storageFailed(reason, outcome));
    this.#parts.onEnded?.("member");
  }

  #reportGone(former: readonly string[]): void {
    const runs = former.filter((run) => run !== this.run && !this.members().includes(run));
    if (runs.length > 0) for (const listener of this.#goneListeners) listener(runs);
  }

  #settleOwn({ outcome, answers }: AppliedEntry): void {
    this.#inFlight = undefined;
    if (outcome === "refused") {
      this.#noteExpelled(this.#membership.own ?? "expelled");
      return;
    }
    const isJoin = !this.#isJoined;
    this.#isJoined = true;
    if (isJoin) return;
    this.#own.settle(answers, ({ request, mark }, output) => {
      if (this.#writes.has(request.procedure)) this.#listeners.reportOwn(request, output, mark);
    });
  }

  #reportForeign({ requests, answers }: AppliedEntry): void {
    for (const [index, request] of requests.entries()) {
      const answer = answers[index];
      if (answer?.status === "done" && this.#writes.has(request.procedure))
        this.#listeners.reportForeign(request, answer.output);
    }
  }

  #fingerprint({ position, digest, outcome, requests }: AppliedEntry): void {
    const every = this.#parts.fingerprintEvery ?? FINGERPRINT_EVERY;
    const isDue = position % every === 0 || requests.some(({ procedure }) => procedure === MEMBER_PROCEDURES.nothing);
    if (!isDue || outcome === "repeated" || !this.#isJoined) return;
    for (const comparison of this.#comparisons) comparison.print ??= { at: position, digest };
    this.#inBackground({ procedure: FINGERPRINT, input: { run: this.run, at: position, digest } });
  }

  #noteFingerprints({ requests, answers }: AppliedEntry): void {
    if (this.#comparisons.size === 0) return;
    for (const [index, { procedure, input }] of requests.entries()) {
      if (procedure !== FINGERPRINT || answers[index]?.status !== "done") continue;
      // The cast is safe, because only this class appends this procedure.
      const { run, at, digest } = input as FingerprintInput;
      for (const { print, equal } of this.#comparisons) if (print?.at === at && print.digest === digest) equal.add(run);
    }
    for (const comparison of this.#comparisons)
      if (comparison.equal.size > this.members().length / 2) comparison.isAgreed = true;
  }

  /** Stores the time after the wall clock was set, so that it is known after a crash. */
  #storeTime(): void {
    this.#inBackground({ procedure: MEMBER_PROCEDURES.nothing, input: null });
  }

  #inBackground(request: Request): void {
    this.#request(request, true).catch((error: unknown) =>
      this.#parts.logger.debug("an entry of a store could not be written", { procedure: request.procedure, error }),
    );
  }

  #noteExpelled(state: RunState): void {
    if (state === "left" || this.#end !== undefined) return;
    const reason =
      state === "quarantined"
        ? "the replica of this engine differs from those of the majority; it must be seeded again"
        : "the other engines expelled this one, because it was silent; it must join again";
    this.#endWith(reason, () => new CallError("run_expelled", reason, { details: { outcome: "not_written" } }));
    this.#parts.onEnded?.(state);
  }

  /** An engine that is too slow for the log needs a new store, which is opened from a snapshot. */
  #onLogFailed(error: LogTruncated | LogChanged): void {
    const isTruncated = error instanceof LogTruncated;
    this.#stop(isTruncated ? `${error.message}; this engine is so far behind that it needs a snapshot` : error.message);
    if (!isTruncated) return;
    this.#truncated = error;
    if (this.#isJoined && this.#closing === undefined) this.#parts.onEnded?.("member");
  }

  #stop(reason: string): void {
    this.#endWith(reason, (outcome) => storeUnavailable(reason, outcome));
  }

  /** Stops writing and rejects all requests, because it is no longer known which of them are in the log. */
  #endWith(reason: string, error: (outcome: Outcome) => CallError): void {
    if (this.#end !== undefined) return;
    this.#end = { reason, error };
    if (this.#closing === undefined) this.#parts.logger.error("store stopped", { run: this.run, reason });
    this.#follow?.stop();
    this.#writer.stop();
    this.#inbox.stop();
    this.#own.fail(error);
    this.#progress.note();
  }

  async #leave(): Promise<void> {
    const { timeoutClock, stallMs = STALL_MS } = this.#parts;
    const waitMs = this.#own.isEmpty ? LEAVE_MS : stallMs;
    if (this.#isJoined && this.#end === undefined) {
      const left = this.#request({ procedure: MEMBER_PROCEDURES.leave, input: { run: this.run } }, true);
      await new Promise<void>((resolve) => {
        const cancel = timeoutClock.after(waitMs, resolve);
        const done = (): void => {
          cancel();
          resolve();
        };
        left.then(done, done);
      });
    }
    await this.abort();
  }
}
