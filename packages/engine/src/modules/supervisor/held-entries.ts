import type { Clock } from "../../kernel/clock.ts";
import type { LogEntry } from "../../kernel/telemetry-contract.ts";

/** SDKs send lines after 0.1 s, or when 64 wait. */
const HELD_MS = 2_000;
const MAX_HELD = 64;

/** Entries that a process's SDK sends by itself. The last ones are held: a process that ends all at once may not have come to send them. */
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

  /** Those of the last 2 s, each once. Most were sent: whoever gets them knows doubles by their ids. */
  take(): readonly LogEntry[] {
    const since = this.#clock.monotonic() - HELD_MS;
    const held = this.#held.filter(({ atMs }) => atMs >= since);
    this.#held = [];
    return held.map(({ entry }) => entry);
  }
}
