import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";

const PROBE_MS = 1_000;

/** Error replies that mean that the server rejects all writes at present. */
const refusals = /^(OOM|MISCONF|READONLY|NOPERM|NOAUTH|LOADING|MASTERDOWN|NOREPLICAS|CLUSTERDOWN)\b/;

/**
 * Tracks whether a server rejects writes, e.g. because its memory or disk is full or it is a read-only replica. If it
 * does, sends test writes until the server accepts them again.
 */
export class WriteRefusal {
  readonly #probe: () => Promise<unknown>;
  readonly #clock: Clock;
  readonly #log: Logger;
  #reason: string | undefined;
  #cancelProbe: (() => void) | undefined;

  /** `probe` makes a small write and rejects if the server rejects it. */
  constructor(probe: () => Promise<unknown>, clock: Clock, log: Logger) {
    this.#probe = probe;
    this.#clock = clock;
    this.#log = log;
  }

  /** The server's last error reply. Undefined if the server is not known to reject writes. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Records an error reply. If it means that the server rejects all writes, starts to probe the server. */
  note(reply: string): void {
    if (!refusals.test(reply)) return;
    if (this.#reason === undefined) this.#log.error("Redis rejects writes", { reason: reply });
    this.#reason = reply;
    this.#cancelProbe ??= this.#clock.after(PROBE_MS, () => this.#check());
  }

  stop(): void {
    this.#cancelProbe?.();
    this.#cancelProbe = undefined;
    this.#reason = undefined;
  }

  #check(): void {
    this.#probe().then(
      () => {
        if (this.#cancelProbe === undefined) return;
        this.stop();
        this.#log.info("Redis accepts writes again");
      },
      () => {
        if (this.#cancelProbe !== undefined) this.#cancelProbe = this.#clock.after(PROBE_MS, () => this.#check());
      },
    );
  }
}
