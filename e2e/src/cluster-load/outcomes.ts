// What may be true after writes that were acknowledged, refused, or whose outcome is unknown.
import { CallError } from "@svc-runtime/sdk";

/** `no`: nothing was written. `unknown`: it may have been, or may be later. */
export type Failure = "no" | "unknown";

export function failureOf(error: unknown): Failure {
  if (!CallError.is(error)) throw error;
  return error.executed === "no" || error.details?.outcome === "not_written" ? "no" : "unknown";
}

/** A counter to which one client adds 1 again and again, each time after the former call has ended. */
export class Counter {
  acknowledged = 0;
  unknown = 0;
  /** Value after the last acknowledged increment. */
  #value = 0;
  /** Increments that may have been made after that one. */
  #open = 0;

  /** Takes the value that an increment answered. Returns what is wrong with it. */
  acked(value: unknown): string | undefined {
    this.acknowledged += 1;
    const made = Number(value) - this.#value - 1;
    const problem =
      made >= 0 && made <= this.#open
        ? undefined
        : `an increment answered ${value} after ${this.#value}, with ${this.#open} of unknown outcome between`;
    this.#value = Number(value);
    this.#open = Math.max(0, this.#open - Math.max(0, made));
    return problem;
  }

  failed(outcome: Failure): void {
    if (outcome === "no") return;
    this.unknown += 1;
    this.#open += 1;
  }

  /** Returns what is wrong with a value that was read while no increment was under way. */
  read(value: unknown): string | undefined {
    const at = Number(value ?? 0);
    if (at >= this.#value && at <= this.#value + this.#open) return undefined;
    return `${value} was read after ${this.#value} was acknowledged, with ${this.#open} of unknown outcome since`;
  }
}

/** Starts of the ticks of one cron job, by instant. */
export class Ticks {
  readonly #starts = new Map<string, string[]>();
  /** Instants that the history calls started and failed. */
  readonly #interrupted = new Set<string>();

  started(instant: string, node: string): void {
    this.#starts.set(instant, [...(this.#starts.get(instant) ?? []), node]);
  }

  interrupted(instant: string): void {
    this.#interrupted.add(instant);
  }

  get count(): number {
    return this.#starts.size;
  }

  /** Number of ticks that started at an engine which was killed before the function was called. */
  get cutOff(): number {
    return [...this.#interrupted].filter((instant) => !this.#starts.has(instant)).length;
  }

  /** The job has a tick each second: each from the first to the last started exactly once. */
  problems(): string[] {
    const problems: string[] = [];
    for (const [instant, nodes] of this.#starts)
      if (nodes.length > 1)
        problems.push(`the tick of ${instant} started ${nodes.length} times, at ${nodes.join(", ")}`);
    const instants = [...this.#starts.keys()].sort();
    const last = Date.parse(instants.at(-1) ?? "");
    for (let at = Date.parse(instants[0] ?? ""); at < last; at += 1_000) {
      const instant = new Date(at).toISOString();
      if (!this.#starts.has(instant) && !this.#interrupted.has(instant))
        problems.push(`the tick of ${instant} was not started`);
    }
    return problems;
  }
}

/** Returns the longest time between `from` and `to` without a member of `times`, which are in order. */
export function longestPause(times: readonly number[], from: number, to: number): number {
  let longest = 0;
  let before = from;
  for (const at of times) {
    if (at <= from) continue;
    if (at >= to) break;
    longest = Math.max(longest, at - before);
    before = at;
  }
  return Math.max(longest, to - before);
}

/** E.g. `median 2.1 s, longest 5.4 s`. */
export function inSeconds(times: readonly number[]): string {
  return medianAndLongest(times, (ms) => `${(ms / 1_000).toFixed(1)} s`);
}

/** E.g. `median 21 ms, longest 54 ms`. */
export function inMs(times: readonly number[]): string {
  return medianAndLongest(times, (ms) => `${Math.round(ms)} ms`);
}

function medianAndLongest(times: readonly number[], shown: (ms: number) => string): string {
  if (times.length === 0) return "none";
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number): string => shown(sorted[Math.floor(part * (sorted.length - 1))] ?? 0);
  return `median ${at(0.5)}, longest ${at(1)}`;
}
