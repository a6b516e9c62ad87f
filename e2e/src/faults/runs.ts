// Options that `npm run faults` passes to its tests: duration, Node versions, and the file for the results.
import { appendFileSync } from "node:fs";
import { say } from "../support/say.ts";

/** A quick run only tests that everything works. Its results mean little. */
const isShort = process.env.SVC_FAULTS_SHORT === "1";

/** Returns the number of rounds, or minutes, of this run. */
export function amount(whole: number, short: number): number {
  return isShort ? short : whole;
}

export interface Runtime {
  /** E.g. `Node 22, node:sqlite`. */
  readonly name: string;
  /** Path of the Node binary. */
  readonly node: string;
}

/** Node 20 uses the package libsql, Node 22 its own SQLite. */
export function runtimes(): readonly Runtime[] {
  const node22 = process.env.SVC_NODE22;
  const own: Runtime = { name: `Node ${process.versions.node}`, node: process.execPath };
  return node22 === undefined ? [own] : [own, { name: "Node 22, node:sqlite", node: node22 }];
}

/** Records a result for the table that the run prints at its end. */
export function figure(what: string, result: string): void {
  say(`${what}: ${result}`);
  const file = process.env.SVC_FAULTS_FIGURES;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ what, result })}\n`);
}
