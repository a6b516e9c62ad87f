import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";

const PROBE_MS = 1_000;

/** Replies that say that the server takes no writes at present, whatever they are. */
const refusals = /^(OOM|MISCONF|READONLY|NOPERM|NOAUTH|LOADING|MASTERDOWN|NOREPLICAS|CLUSTERDOWN)\b/;

/** Remembers that a server refuses writes (its memory or its disk is full, it became a replica), and finds out when it takes them again. */
export class WriteRefusal {
  readonly #probe: () => Promise<unknown>;
  readonly #clock: Clock;
  readonly #log: Logger;
  #reason: string | undefined;
  #cancelProbe: (() => void) | undefined;

  /** `probe` writes something small and rejects when that is refused. */
  constructor(probe: () => Promise<unknown>, clock: Clock, log: Logger) {
    this.#probe = probe;
    this.#clock = clock;
    this.#log = log;
  }

  /** What the server said; undefined when it takes writes as far as we know. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Takes note of an error reply. */
  note(reply: string): void {
    if (!refusals.test(reply)) return;
    if (this.#reason === undefined) this.#log.error("Redis refuses writes", { reason: reply });
    this.#reason = reply;
    this.#cancelProbe ??= this.#clock.after(PROBE_MS, () => this.#ask());
  }

  stop(): void {
    this.#cancelProbe?.();
    this.#cancelProbe = undefined;
    this.#reason = undefined;
  }

  #ask(): void {
    this.#probe().then(
      () => {
        if (this.#cancelProbe === undefined) return;
        this.stop();
        this.#log.info("Redis takes writes again");
      },
      () => {
        if (this.#cancelProbe !== undefined) this.#cancelProbe = this.#clock.after(PROBE_MS, () => this.#ask());
      },
    );
  }
}
