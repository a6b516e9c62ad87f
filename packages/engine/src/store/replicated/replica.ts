import { answersTo, DatabaseFailed, runAlone, runEntry } from "../batch.ts";
import { type Database, resultCodes, SqlError } from "../driver.ts";
import type { BatchTime } from "../log-time.ts";
import { openProcedures, writesOf } from "../open-module.ts";
import type { ProceduresModule, ProcedureTable, WriteBuffer } from "../procedures.ts";
import type { Answer, Request } from "../thread-messages.ts";
import { decodeEntry, decodeRequests, ENTRY_VERSION, type EntryHeader } from "./entry.ts";
import { fromJson } from "./entry-json.ts";
import { FINGERPRINT, fingerprintProcedures } from "./fingerprint.ts";
import { forgetVotes, MEMBER_PROCEDURES, memberProcedures } from "./members.ts";
import type {
  AppliedEntry,
  ApplyResult,
  EntryToApply,
  LocalRead,
  Membership,
  OpenedReplica,
} from "./replica-messages.ts";
import { digestOf, type ReplicaState, ReplicaTables } from "./replica-tables.ts";
import { ReplicaTime } from "./replica-time.ts";

/** Thrown if a replica can apply no further entry, and trying again cannot help. */
export class ReplicaStopped extends Error {
  override readonly name = "ReplicaStopped";
}

interface Step {
  readonly request: Request;
  /** True for a request that only this node runs. It changes nothing, and is not counted as a request of the entry. */
  readonly isLocal: boolean;
}

const NOTHING: Request = { procedure: MEMBER_PROCEDURES.nothing, input: null };

/**
 * A database whose content results from the entries of a log. An entry, its answers and its position are committed in
 * one transaction, so that a killed replica continues where it stopped. Every replica of a log has the same content at
 * the same position.
 */
export class Replica {
  readonly #database: Database;
  readonly #tables: ReplicaTables;
  readonly #procedures: ProcedureTable;
  readonly #buffer: WriteBuffer;
  readonly #time: ReplicaTime;
  readonly #run: string;
  readonly #writes: readonly string[];
  /** The state that is stored in the database. */
  #state: ReplicaState;
  /** Answers to the first steps of an entry whose application was interrupted, e.g. because the disk was full. */
  #begun: { readonly id: string; readonly answers: Answer[] } | undefined;

  /**
   * `run` is the run of this node. Throws ReplicaStopped if the database is a replica of another log. Throws SqlError
   * if the database fails.
   */
  constructor(
    database: Database,
    module: ProceduresModule,
    { identity, run }: { readonly identity: string; readonly run: string },
  ) {
    this.#database = database;
    this.#run = run;
    this.#tables = new ReplicaTables(database);
    const empty = { identity, position: 0, lastId: "", applied: 0, digest: "", now: 0, wall: 0 };
    this.#state = this.#tables.state() ?? empty;
    if (this.#state.identity !== identity)
      throw new ReplicaStopped(
        `the replica is one of log ${this.#state.identity}, but the log is ${identity}: the NATS servers lost the former one (then keep this file: \`svc cluster recover --help\`), \`svc cluster init\` or \`recover\` made this one (then move the folder \`cluster\` out of this engine's data folder), or the folder is of another cluster (then set \`engine.cluster\` to that one, or take another data folder)`,
      );
    this.#time = new ReplicaTime(this.#state);
    const { procedures, buffer } = openProcedures(module, database, this.#time, {
      isMember: (of) => this.#tables.storedRun(of)?.state === "member",
    });
    this.#writes = writesOf({ procedures });
    this.#procedures = { ...procedures, ...memberProcedures(this.#tables), ...fingerprintProcedures(this.#tables) };
    this.#buffer = buffer;
  }

  get opened(): OpenedReplica {
    return { state: this.#state, membership: this.#membership(), writes: this.#writes };
  }

  /** Applies entries in order. Stops at the first entry that fails. */
  apply(entries: readonly EntryToApply[]): ApplyResult {
    const applied: AppliedEntry[] = [];
    for (const entry of entries) {
      try {
        applied.push(this.#apply(entry));
      } catch (thrown) {
        return { applied, failure: failureOf(thrown, entry) };
      }
    }
    return { applied, failure: undefined };
  }

  /** Runs reads at the given time. The stored time does not change. */
  read(requests: readonly Request[], time: BatchTime): Answer[] {
    this.#time.begin(time, this.#state.now);
    return answersTo(requests, (request) => {
      try {
        return runAlone(this.#procedures, request);
      } catch (thrown) {
        if (!(thrown instanceof DatabaseFailed)) throw thrown;
        return { status: "failed", message: thrown.message };
      }
    });
  }

  answersOf(run: string): { readonly n: number; readonly answers: readonly Answer[] | undefined } | undefined {
    const stored = this.#tables.storedRun(run);
    if (stored === undefined) return undefined;
    const answers = stored.answers === null ? undefined : (fromJson(stored.answers) as readonly Answer[]);
    return { n: stored.n, answers };
  }

  #apply(entry: EntryToApply): AppliedEntry {
    const { position } = this.#state;
    if (entry.position <= position) return this.#done(entry, "repeated", [], []);
    if (entry.position > position + 1)
      throw new ReplicaStopped(
        `the log gave entry ${entry.position} after ${position}; entries in between are missing`,
      );
    const { header, body } = decodeEntry(entry.bytes);
    if (header.kind === "start")
      throw new ReplicaStopped(
        "the log begins with a snapshot that is not stored yet: run `svc cluster init` or `svc cluster recover` again, and start the engine when it is done",
      );
    if (header.v > ENTRY_VERSION)
      throw new ReplicaStopped(
        `entry ${entry.position} has version ${header.v}, this engine knows versions up to ${ENTRY_VERSION}; upgrade it`,
      );
    const outcome = this.#admit(header);
    if (outcome !== "applied") return this.#skip(entry, header, outcome);
    if (header.kind === "part") {
      this.#commit(entry, header, [], { also: () => this.#tables.addPart(header.run, header.n, body) });
      return this.#done(entry, "part", [], []);
    }
    return this.#applyRequests(entry, header, decodeRequests(Buffer.concat([...this.#tables.parts(header.run), body])));
  }

  #admit({ run, n, kind }: EntryHeader): "applied" | "repeated" | "refused" {
    const stored = this.#tables.storedRun(run);
    if (stored === undefined) return kind === "join" ? "applied" : "refused";
    if (n <= stored.n) return "repeated";
    if (stored.state !== "member") return "refused";
    if (n > stored.n + 1)
      throw new ReplicaStopped(`entry ${n} of run ${run} came after its entry ${stored.n}; the log lost entries`);
    return "applied";
  }

  #skip(entry: EntryToApply, header: EntryHeader, outcome: "repeated" | "refused"): AppliedEntry {
    this.#commitState({ ...this.#after(entry, header), digest: this.#state.digest });
    return this.#done(entry, outcome, [], []);
  }

  #applyRequests(entry: EntryToApply, header: EntryHeader, all: readonly Request[]): AppliedEntry {
    const begun = this.#begun?.id === entry.id ? this.#begun : { id: entry.id, answers: [] };
    // The answers to requests that were applied before a restart are lost. So only the remaining requests run.
    const isResumed = this.#state.applied > 0 && begun.answers.length === 0;
    const steps = isResumed ? withReads(all.slice(this.#state.applied), []) : withReads(all, entry.reads);
    const requests = steps.map(({ request }) => request);
    this.#begun = begun;
    let { answers } = begun;
    try {
      this.#commit(entry, header, steps.slice(answers.length), { answers });
      answers = answers.slice(0, steps.length);
    } catch (thrown) {
      if (!failsEverywhere(thrown)) throw thrown;
      this.#commit(entry, header, []);
      answers = requests.map(() => ({ status: "failed", message: thrown.message }));
    }
    this.#begun = undefined;
    const changes = all.some(({ procedure }) => procedure.startsWith("replica:"));
    const differs = requests.some(
      ({ procedure }, index) => procedure === FINGERPRINT && Reflect.get(outputOf(answers[index]), "differ") === true,
    );
    return {
      ...this.#done(entry, "applied", requests, answers),
      differs,
      membership: changes ? this.#membership() : undefined,
    };
  }

  /**
   * Runs an entry of a member and adds its answers to `answers`. `also` runs in the transaction that completes the
   * entry.
   */
  #commit(
    entry: EntryToApply,
    header: EntryHeader,
    steps: readonly Step[],
    { answers = [], also }: { readonly answers?: Answer[]; readonly also?: () => void } = {},
  ): void {
    const before = this.#state.applied;
    const wanted = steps.filter(({ isLocal }) => !isLocal).length;
    // A batch without a write has no transaction, so it could not store the position. So add a write that does nothing.
    const isWriting = steps.some(({ request }) => this.#procedures[request.procedure]?.kind === "write");
    const all = isWriting ? steps : [...steps, { request: NOTHING, isLocal: true }];
    const complete = this.#after(entry, header);
    this.#time.begin(header, this.#state.now);
    let next = this.#state;
    runEntry(
      this.#database,
      this.#procedures,
      this.#buffer,
      all.map(({ request }) => request),
      {
        from: 0,
        storePosition: (count, last) => {
          const first = count - last.length;
          const counted = last.filter((_, index) => all[first + index]?.isLocal === false);
          const digest = digestOf(this.#state.digest, counted);
          const applied = all.slice(0, count).filter(({ isLocal }) => !isLocal).length;
          const isComplete = applied === wanted;
          next = isComplete ? { ...complete, digest } : { ...this.#state, applied: before + applied, digest };
          this.#tables.setState(next);
          if (!isComplete) return;
          if (also === undefined) this.#tables.removeParts(header.run);
          this.#tables.advance(header.run, header.n, before === 0 && first === 0 ? counted : undefined);
          forgetVotes(this.#tables, header.run);
          also?.();
        },
        onPart: (part) => {
          answers.push(...part);
          this.#state = next;
        },
      },
    );
  }

  /** Returns the state after an entry, without its digest. */
  #after({ position, id }: EntryToApply, header: EntryHeader): Omit<ReplicaState, "digest"> {
    const now = Math.max(header.now, this.#state.now);
    return { identity: this.#state.identity, position, lastId: id, applied: 0, now, wall: header.wall };
  }

  #commitState(next: ReplicaState): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      this.#tables.setState(next);
      this.#database.exec("COMMIT");
    } catch (thrown) {
      this.#database.exec("ROLLBACK");
      throw thrown;
    }
    this.#state = next;
  }

  #done(
    { position, id }: EntryToApply,
    outcome: AppliedEntry["outcome"],
    requests: readonly Request[],
    answers: readonly Answer[],
  ): AppliedEntry {
    const { digest, now, wall } = this.#state;
    const time = { now, wall };
    return { position, id, outcome, requests, answers, membership: undefined, differs: false, digest, time };
  }

  #membership(): Membership {
    return { members: this.#tables.members(), own: this.#tables.storedRun(this.#run)?.state };
  }
}

/** Inserts the reads of this node at their places between the requests of its entry. */
function withReads(requests: readonly Request[], reads: readonly LocalRead[]): Step[] {
  const steps: Step[] = requests.map((request) => ({ request, isLocal: false }));
  for (const { index, request } of reads) steps.splice(index, 0, { request, isLocal: true });
  return steps;
}

function outputOf(answer: Answer | undefined): object {
  return answer?.status === "done" && typeof answer.output === "object" && answer.output !== null ? answer.output : {};
}

/**
 * True if the commit of the entry's changes violates a constraint. Then it fails on every node, and every node skips
 * the entry.
 */
function failsEverywhere(thrown: unknown): thrown is DatabaseFailed {
  return thrown instanceof DatabaseFailed && thrown.isOfCommit && thrown.resultCode === resultCodes.constraint;
}

/**
 * A full disk may have space again later, so that failure is not fatal. After an I/O error the content of the file is
 * unknown, so that failure is fatal.
 */
function failureOf(thrown: unknown, { position }: EntryToApply): ApplyResult["failure"] {
  const reason = `entry ${position} of the log cannot be applied: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  if (thrown instanceof ReplicaStopped) return { reason, fatal: true, isDamage: false };
  const failed = thrown instanceof SqlError ? new DatabaseFailed(thrown, "storing the position") : thrown;
  if (failed instanceof DatabaseFailed) return { reason, fatal: failed.suspect, isDamage: failed.suspect };
  throw thrown;
}
