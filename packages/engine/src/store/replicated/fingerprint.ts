import { type ProcedureTable, write } from "../procedures.ts";
import { remove } from "./members.ts";
import type { ReplicaTables } from "./replica-tables.ts";

/** Each node appends a fingerprint of its answers after this many entries. */
export const FINGERPRINT_EVERY = 1_000;
/** Number of positions whose fingerprints are kept. */
const KEPT = 10;

export const FINGERPRINT = "replica:fingerprint";

export interface FingerprintInput {
  readonly run: string;
  /** Position in the log. */
  readonly at: number;
  /** `ReplicaState.digest` at this position. */
  readonly digest: string;
}

/**
 * Compares the fingerprints of the members at a position. If a majority has the same fingerprint, each member with
 * another one is quarantined: it is expelled and must be restored from a snapshot. The answer's `differ` is true if at
 * least two fingerprints differ.
 */
export function fingerprintProcedures(tables: ReplicaTables): ProcedureTable {
  return {
    [FINGERPRINT]: write(({ run, at, digest }: FingerprintInput) => {
      tables.run("INSERT OR REPLACE INTO replica_fingerprints VALUES (?, ?, ?)", at, run, digest);
      tables.run("DELETE FROM replica_fingerprints WHERE at <= ?", at - KEPT * FINGERPRINT_EVERY);
      const seen = tables.rows<{ run: string; digest: string }>(
        "SELECT run, digest FROM replica_fingerprints WHERE at = ? ORDER BY run",
        at,
      );
      const needed = Math.floor(tables.members().length / 2) + 1;
      const agreed = seen.find((one) => seen.filter((other) => other.digest === one.digest).length >= needed);
      const different = seen.filter((one) => one.digest !== (agreed?.digest ?? seen[0]?.digest));
      if (agreed !== undefined) for (const one of different) remove(tables, one.run, "quarantined");
      return { differ: different.length > 0 };
    }),
  };
}
