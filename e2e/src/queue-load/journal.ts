import { readFileSync } from "node:fs";
import type { Kind } from "./plan.ts";

/** Start of an attempt in a worker. `at` is in microseconds of the machine's clock. */
export interface Start {
  readonly name: string;
  readonly group: string;
  readonly order: number;
  readonly kind: Kind;
  readonly attempt: number;
  readonly at: number;
}

export interface End {
  readonly name: string;
  readonly attempt: number;
  readonly ok: boolean;
  readonly at: number;
}

/** Journals of all workers. */
export interface History {
  /** Names of jobs that were acknowledged. */
  readonly acks: ReadonlySet<string>;
  /** Names of jobs whose enqueue failed, with the code. They may be stored. */
  readonly failures: ReadonlyMap<string, string>;
  /** Sorted by time. */
  readonly starts: readonly Start[];
  readonly ends: readonly End[];
}

type Line =
  | { readonly begun: unknown }
  | { readonly ack: { readonly name: string } }
  | { readonly failed: { readonly name: string; readonly code: string } }
  | { readonly start: Start }
  | { readonly end: End };

export function readJournals(files: readonly string[]): History {
  const acks = new Set<string>();
  const failures = new Map<string, string>();
  const starts: Start[] = [];
  const ends: End[] = [];
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    // The last line may be incomplete while the worker continues.
    for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n")) {
      if (line === "") continue;
      const read = JSON.parse(line) as Line;
      if ("ack" in read) acks.add(read.ack.name);
      else if ("failed" in read) failures.set(read.failed.name, read.failed.code);
      else if ("start" in read) starts.push(read.start);
      else if ("end" in read) ends.push(read.end);
    }
  }
  starts.sort((a, b) => a.at - b.at);
  return { acks, failures, starts, ends };
}
