import { createHash } from "node:crypto";
import type { Database, SqlRow } from "../driver.ts";
import type { Answer } from "../thread-messages.ts";
import { toJson } from "./entry-json.ts";

/** Membership of a run. A run that is not a member can never write again. */
export type RunState = "member" | "left" | "expelled" | "quarantined";

/** How far a replica has read the log. Stored in the transaction of each entry. */
export interface ReplicaState {
  /** Identity of the log. */
  readonly identity: string;
  /** Position of the last entry of which all requests are applied. */
  readonly position: number;
  /** Id of the entry at `position`; "" if the position is 0. */
  readonly lastId: string;
  /**
   * Number of requests of the next entry that are applied already. It is above 0 only if the answers are so large that
   * the entry is applied in several transactions.
   */
  readonly applied: number;
  /** Hash over the answers to all requests. Replicas with equal content have equal hashes. */
  readonly digest: string;
  /** Log time and wall clock of the last entry. */
  readonly now: number;
  readonly wall: number;
}

export interface StoredRun {
  readonly n: number;
  readonly state: RunState;
  /** Answers to the run's last entry as JSON; null if they were too large to keep. */
  readonly answers: string | null;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS replica_state (id INTEGER PRIMARY KEY CHECK (id = 1), identity TEXT NOT NULL,
  position INTEGER NOT NULL, last_id TEXT NOT NULL, applied INTEGER NOT NULL, digest TEXT NOT NULL, now INTEGER NOT NULL,
  wall INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS replica_runs (joined INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, node TEXT NOT NULL,
  n INTEGER NOT NULL, state TEXT NOT NULL, answers TEXT);
CREATE TABLE IF NOT EXISTS replica_votes (target TEXT NOT NULL, voter TEXT NOT NULL, PRIMARY KEY (target, voter));
CREATE TABLE IF NOT EXISTS replica_parts (run TEXT NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, n));
CREATE TABLE IF NOT EXISTS replica_fingerprints (at INTEGER NOT NULL, run TEXT NOT NULL, digest TEXT NOT NULL,
  PRIMARY KEY (at, run));`;

/** Tables in which a replica keeps its position, its members, and the data with which it detects repeated entries. */
export class ReplicaTables {
  readonly #database: Database;
  readonly #statements = new Map<string, ReturnType<Database["prepare"]>>();

  constructor(database: Database) {
    this.#database = database;
    database.exec(SCHEMA);
  }

  run(sql: string, ...parameters: readonly (string | number | null | Uint8Array)[]): void {
    this.#prepared(sql).run(...parameters);
  }

  rows<Row extends SqlRow>(sql: string, ...parameters: readonly (string | number)[]): Row[] {
    return this.#prepared(sql).all(...parameters) as Row[];
  }

  state(): ReplicaState | undefined {
    const [row] = this.rows<{ last_id: string } & Record<Exclude<keyof ReplicaState, "lastId">, never>>(
      "SELECT identity, position, last_id, applied, digest, now, wall FROM replica_state",
    );
    if (row === undefined) return undefined;
    const { last_id: lastId, ...rest } = row;
    return { ...rest, lastId };
  }

  setState({ identity, position, lastId, applied, digest, now, wall }: ReplicaState): void {
    this.run(
      "INSERT OR REPLACE INTO replica_state VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
      ...[identity, position, lastId, applied, digest, now, wall],
    );
  }

  storedRun(run: string): StoredRun | undefined {
    // The cast is safe, because only this class and members.ts write the state.
    return this.rows<{ n: number; state: RunState; answers: string | null }>(
      "SELECT n, state, answers FROM replica_runs WHERE run = ?",
      run,
    )[0];
  }

  members(): readonly string[] {
    const rows = this.rows<{ run: string }>("SELECT run FROM replica_runs WHERE state = 'member' ORDER BY joined");
    return rows.map(({ run }) => run);
  }

  /** Stores that entry `n` of the run was applied, with its answers. */
  advance(run: string, n: number, answers: readonly Answer[] | undefined): void {
    const text = answers === undefined ? null : toJson(answers);
    this.run(
      "UPDATE replica_runs SET n = ?, answers = ? WHERE run = ?",
      ...[n, text !== null && text.length > MAX_STORED_ANSWERS ? null : text, run],
    );
  }

  addPart(run: string, n: number, data: Uint8Array): void {
    this.run("INSERT INTO replica_parts VALUES (?, ?, ?)", run, n, data);
  }

  parts(run: string): Uint8Array[] {
    return this.rows<{ data: Uint8Array }>("SELECT data FROM replica_parts WHERE run = ? ORDER BY n", run).map(
      ({ data }) => data,
    );
  }

  removeParts(run: string): void {
    this.run("DELETE FROM replica_parts WHERE run = ?", run);
  }

  #prepared(sql: string): ReturnType<Database["prepare"]> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Maximum length of stored answers, in characters. */
const MAX_STORED_ANSWERS = 64 * 1024;

/** Adds answers to the hash. Error messages are left out, because a release may change their wording. */
export function digestOf(before: string, answers: readonly Answer[]): string {
  let digest = before;
  for (const answer of answers) {
    const text = answer.status === "done" ? toJson(answer.output) : answer.status === "refused" ? answer.code : "";
    digest = createHash("sha256").update(`${digest} ${answer.status} ${text}`).digest("base64");
  }
  return digest;
}
