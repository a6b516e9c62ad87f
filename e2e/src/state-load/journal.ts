import { readFileSync } from "node:fs";

/** An acknowledged write. */
export interface Ack {
  readonly key: string;
  readonly version: number;
  readonly value: unknown;
}

/** An event that a worker received. */
export interface ToldEvent {
  readonly type: string;
  readonly key: string;
  readonly version: number;
  readonly old: unknown;
  readonly value: unknown;
}

/** Journals of all workers. The events of a key are in the order in which its watcher received them. */
export interface History {
  readonly acks: readonly Ack[];
  readonly events: readonly ToldEvent[];
  readonly failures: ReadonlyMap<string, number>;
}

type Line = { readonly ack: Ack } | { readonly event: ToldEvent } | { readonly failed: { readonly code: string } };

export function readJournals(files: readonly string[]): History {
  const acks: Ack[] = [];
  const events: ToldEvent[] = [];
  const failures = new Map<string, number>();
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    // The last line may be incomplete while the worker continues.
    for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n")) {
      if (line === "") continue;
      const read = JSON.parse(line) as Line;
      if ("ack" in read) acks.push(read.ack);
      else if ("event" in read) events.push(read.event);
      else failures.set(read.failed.code, (failures.get(read.failed.code) ?? 0) + 1);
    }
  }
  return { acks, events, failures };
}
