import type { Clock } from "../../../kernel/clock.ts";
import type { LogEntry } from "../../../kernel/telemetry-contract.ts";

/** How long entries are held. Our SDKs send an entry after 0.1 s, or earlier when 64 entries wait. */
const HELD_MS = 2_000;
const MAX_HELD = 64;

/**
 * Holds the last log entries that a process's SDK sends itself, because a process that crashes may not have sent them.
 */
export class HeldEntries {
  readonly #clock: Clock;
  #held: { readonly entry: LogEntry; readonly atMs: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(entry: LogEntry): void {
    this.#held.push({ entry, atMs: this.#clock.monotonic() });
    if (this.#held.length > MAX_HELD) this.#held.shift();
  }

  /**
   * Returns the entries of the last 2 s and forgets all entries. The SDK has already sent most of them, but the
   * receiver drops duplicates by id.
   */
  take(): readonly LogEntry[] {
    const since = this.#clock.monotonic() - HELD_MS;
    const held = this.#held.filter(({ atMs }) => atMs >= since);
    this.#held = [];
    return held.map(({ entry }) => entry);
  }
}
