import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const PROGRAM = fileURLToPath(new URL("../../src/faults/porcupine", import.meta.url));
const CHECK_MS = 60 * 60_000;

/** A call of a client to an item, as `porcupine/main.go` reads it. */
export interface ItemCall {
  readonly client: number;
  readonly key: string;
  readonly kind: "set" | "update" | "delete" | "get";
  /** Unique in its history; part of the written value. */
  readonly id: number;
  /** Place in the order of all begins and ends of the history. */
  readonly begin: number;
  end: number;
  /** `failed`: it was not executed. `unknown`: it may have been, or may be at any later time. */
  outcome: { readonly status: "ok" | "failed" | "unknown"; readonly output?: unknown } | undefined;
}

interface Item {
  /** Seed, or number, of the history. */
  readonly seed: number;
  readonly key: string;
}

export interface Verdict {
  /** Number of items whose calls were checked. */
  readonly histories: number;
  /** Items whose history is not linearizable. */
  readonly illegal: readonly Item[];
  /** Items whose history was not checked to its end within a minute. */
  readonly undecided: readonly Item[];
}

/** Resolves with what Porcupine finds in a file with one line, `{seed, operations}`, for each history. */
export async function checkedByPorcupine(file: string): Promise<Verdict> {
  const { stdout } = await promisify(execFile)("sh", ["-c", 'go run . < "$1"', "sh", file], {
    cwd: PROGRAM,
    timeout: CHECK_MS,
  });
  return JSON.parse(stdout);
}
