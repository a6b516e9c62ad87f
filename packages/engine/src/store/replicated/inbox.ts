import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { LogEntry } from "../log.ts";
import type { BatchTime } from "../log-time.ts";
import type { Answer, Request } from "../thread-messages.ts";
import { decodeEntry } from "./entry.ts";
import type { AppliedEntry, LocalRead, Membership, ReplicaHost } from "./replica-messages.ts";
import type { ReplicaState } from "./replica-tables.ts";
import type { Snapshot } from "./snapshot.ts";

export interface InboxParts {
  readonly replica: ReplicaHost;
  readonly reopen: (signal: AbortSignal) => Promise<ReplicaHost>;
  readonly run: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the reads that this node runs with the entry of this id, which is its own. */
  readonly readsOf: (id: string) => readonly LocalRead[];
  readonly onApplied: (applied: AppliedEntry) => void;
  /** Called when an own entry was read from the log, with its number. */
  readonly onOwn: (n: number) => void;
  /**
   * Called when the replica was opened again after its thread ended. `hasMissed` is true if the replica had applied
   * writes of other nodes whose answers are lost. These writes are never reported to listeners.
   */
  readonly onReopened: (membership: Membership, hasMissed: boolean) => void;
  /** Called when no further entry can ever be applied. */
  readonly onFatal: (reason: string) => void;
}

/** Maximum number of entries in one call to the replica. */
const MAX_ENTRIES = 64;
/** Pause before a failed entry is tried again, in milliseconds. */
const RETRY_MS = 500;

/** Entries that were read from the log and are not applied yet. They are applied in order, without gaps. */
export class Inbox {
  readonly #parts: InboxParts;
  readonly #entries: LogEntry[] = [];
  #replica: ReplicaHost;
  /** Position of the last entry that was read. */
  #received: number;
  /** Position of the last entry that was applied. */
  #applied: number;
  #ownSeen = 0;
  /**
   * Entries up to this position are applied without their reads, because one of these reads may have ended the thread.
   */
  #withoutReads = 0;
  #problem: string | undefined;
  readonly #ended = new AbortController();
  #pumping: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  constructor(parts: InboxParts) {
    this.#parts = parts;
    this.#replica = parts.replica;
    this.#received = this.#applied = parts.replica.opened.state.position;
  }

  /** Position of the last entry that was applied. */
  get position(): number {
    return this.#applied;
  }

  /** Reason why entries cannot be applied at present; undefined if there is no problem. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * True if the log contradicts itself: it reported that own entry `n` has this position, but delivered another entry
   * there.
   */
  lacks(n: number, position: number): boolean {
    return position <= this.#received && n > this.#ownSeen;
  }

  add(entry: LogEntry): void {
    if (this.#isStopped || entry.position <= this.#received) return;
    this.#received = entry.position;
    this.#entries.push(entry);
    const prefix = `${this.#parts.run}/`;
    if (entry.id.startsWith(prefix)) {
      // Take the maximum, because the log may contain an earlier entry a second time.
      this.#ownSeen = Math.max(this.#ownSeen, Number(entry.id.slice(prefix.length)));
      this.#parts.onOwn(this.#ownSeen);
    }
    this.#pumping ??= this.#pump().catch((error: unknown) =>
      this.#parts.onFatal(`a defect: ${error instanceof Error ? error.message : error}`),
    );
  }

  async read(request: Request, time: BatchTime): Promise<Answer | undefined> {
    return (await this.#replica.read([request], time))[0];
  }

  async snapshot(file: string, signal: AbortSignal): Promise<Snapshot> {
    return this.#replica.snapshot(file, signal);
  }

  /** Stops applying entries. If the replica is being opened again, the opening is cancelled. */
  stop(): void {
    this.#ended.abort();
    this.#wake?.();
  }

  async close(): Promise<void> {
    this.stop();
    await this.#pumping;
    await this.#replica.close().catch((error: unknown) => this.#parts.logger.warn("replica did not close", { error }));
  }

  async #pump(): Promise<void> {
    try {
      while (this.#entries.length > 0 && !this.#isStopped) await this.#applySome();
    } finally {
      // Set in the same turn in which no further entry was found, so that an entry that is added later starts a new
      // loop.
      this.#pumping = undefined;
    }
  }

  async #applySome(): Promise<void> {
    const entries = this.#entries.slice(0, MAX_ENTRIES).map((entry) => ({
      ...entry,
      reads: entry.position > this.#withoutReads ? this.#parts.readsOf(entry.id) : [],
    }));
    const lastPosition = entries[entries.length - 1]?.position ?? 0;
    const result = await this.#replica.apply(entries).catch((error: Error) => this.#reopen(error, lastPosition));
    if (result === undefined) return;
    this.#entries.splice(0, result.applied.length);
    for (const applied of result.applied) await this.#report(applied);
    this.#note(result.failure?.reason);
    if (result.failure === undefined) return;
    if (result.failure.fatal) {
      this.stop();
      this.#parts.onFatal(result.failure.reason);
    } else await this.#pause();
  }

  async #report(applied: AppliedEntry): Promise<void> {
    this.#applied = applied.position;
    if (this.#isStopped) return;
    const { id, outcome } = applied;
    if (outcome !== "repeated" || id !== `${this.#parts.run}/${this.#ownSeen}`) return this.#parts.onApplied(applied);
    // The entry was applied just before the thread of the replica ended. So its answers are in the database.
    const stored = await this.#replica.answersOf(this.#parts.run).catch(() => undefined);
    const answers = id === `${this.#parts.run}/${stored?.n}` ? stored?.answers : undefined;
    this.#parts.onApplied({ ...applied, answers: answers ?? [] });
  }

  async #reopen({ message }: Error, lastPosition: number): Promise<undefined> {
    this.#note(message);
    this.#withoutReads = lastPosition;
    if (this.#isStopped) return;
    try {
      this.#replica = await this.#parts.reopen(this.#ended.signal);
      const { state, membership } = this.#replica.opened;
      if (state.position < this.#applied) this.#parts.onFatal(`the replica is lost: ${message}`);
      else this.#parts.onReopened(membership, this.#hasMissed(state));
    } catch (error) {
      if (this.#isStopped) return;
      this.#note(error instanceof Error ? error.message : String(error));
      await this.#pause();
    }
  }

  get #isStopped(): boolean {
    return this.#ended.signal.aborted;
  }

  #hasMissed({ position, applied }: ReplicaState): boolean {
    // Some requests of the next entry may be applied already.
    const end = applied > 0 ? position + 1 : position;
    const isOwn = ({ id }: LogEntry): boolean => id.startsWith(`${this.#parts.run}/`);
    return end > this.#received || this.#entries.some((one) => one.position <= end && !isOwn(one) && mayWrite(one));
  }

  #note(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem === undefined) this.#parts.logger.info("replica applies entries again");
    else this.#parts.logger.error("replica cannot apply entries", { problem });
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(RETRY_MS, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

/**
 * False for entries that write nothing: an entry without requests, e.g. for a read, and a part, because the requests
 * are applied with the last part.
 */
function mayWrite({ bytes }: LogEntry): boolean {
  const { header, body } = decodeEntry(bytes);
  return header.kind !== "part" && Buffer.from(body).toString() !== "[]";
}
