import { type ProcedureTable, write } from "../procedures.ts";
import type { ReplicaTables } from "./replica-tables.ts";

/** Names of procedures that every replica has. Procedures of modules cannot have these names. */
export const MEMBER_PROCEDURES = {
  join: "replica:join",
  leave: "replica:leave",
  expel: "replica:expel",
  nothing: "replica:nothing",
} as const;

export interface JoinInput {
  readonly run: string;
  /** Data folder or machine of the run. A node can have only one live run, so its other runs are expelled. */
  readonly node: string;
}

export interface ExpelInput {
  readonly target: string;
  /** Run that wrote the entry. */
  readonly voter: string;
}

/**
 * Procedures that change the members. To expel a run, a majority of the members must vote for it. So a node that has
 * lost contact with the other nodes cannot expel them. If there are only two members, one vote is enough.
 */
export function memberProcedures(tables: ReplicaTables): ProcedureTable {
  return {
    [MEMBER_PROCEDURES.join]: write(({ run, node }: JoinInput) => {
      for (const { run: former } of tables.rows<{ run: string }>(
        "SELECT run FROM replica_runs WHERE node = ? AND state = 'member'",
        node,
      ))
        remove(tables, former, "expelled");
      tables.run("INSERT INTO replica_runs (run, node, n, state) VALUES (?, ?, 0, 'member')", run, node);
    }),
    [MEMBER_PROCEDURES.leave]: write(({ run }: { readonly run: string }) => {
      remove(tables, run, "left");
      expelVotedOut(tables);
    }),
    [MEMBER_PROCEDURES.expel]: write(({ target, voter }: ExpelInput) => {
      const members = tables.members();
      // An earlier request of the voter's entry may have expelled the voter.
      if (target === voter || !members.includes(target) || !members.includes(voter)) return;
      tables.run("INSERT OR IGNORE INTO replica_votes VALUES (?, ?)", target, voter);
      expelVotedOut(tables);
    }),
    [MEMBER_PROCEDURES.nothing]: write((_: null) => undefined),
  };
}

/** Removes a run from the members. None of its later entries is applied. */
export function remove(tables: ReplicaTables, run: string, state: "left" | "expelled" | "quarantined"): void {
  tables.run("UPDATE replica_runs SET state = ? WHERE run = ? AND state = 'member'", state, run);
  tables.run("DELETE FROM replica_votes WHERE target = ? OR voter = ?", run, run);
  tables.run("DELETE FROM replica_fingerprints WHERE run = ?", run);
  tables.removeParts(run);
}

/** Deletes the votes against a run. Called for each entry of the run, because the entry shows that the run is alive. */
export function forgetVotes(tables: ReplicaTables, run: string): void {
  tables.run("DELETE FROM replica_votes WHERE target = ?", run);
}

/** Expels the runs that have enough votes. Each expelled run makes the majority smaller. */
function expelVotedOut(tables: ReplicaTables): void {
  for (;;) {
    const members = tables.members().length;
    const needed = members === 2 ? 1 : Math.floor(members / 2) + 1;
    const [found] = tables.rows<{ target: string }>(
      "SELECT target FROM replica_votes GROUP BY target HAVING count(*) >= ? ORDER BY target LIMIT 1",
      needed,
    );
    if (found === undefined) return;
    remove(tables, found.target, "expelled");
  }
}
