import { type Clock, type ComponentHealth, every } from "@svc-runtime/engine/module";

const TICK_MS = 100;
const WINDOW_MS = 10_000;
const DEGRADED_MS = 250;
const UNHEALTHY_MS = 1_000;

interface Sample {
  /** Time on the monotonic clock. */
  readonly at: number;
  readonly lateMs: number;
}

/**
 * Measures how late the engine's timers run: over the last 10 s for health checks, and the maximum since the last
 * sample for metrics. It uses its own timer, ten times a second, because the runtime's histogram would need more memory
 * than the rest of this module.
 */
export class EventLoopLag {
  readonly #clock: Clock;
  /** Samples of one window, in order of time. */
  readonly #samples: Sample[] = [];
  #expected: number;
  /** Maximum lateness since the last `takeWorst`, in milliseconds. */
  #worstMs = 0;
  #stop: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#expected = clock.monotonic() + TICK_MS;
  }

  start(): void {
    this.#expected = this.#clock.monotonic() + TICK_MS;
    this.#stop = every(this.#clock, TICK_MS, () => {
      const at = this.#clock.monotonic();
      const lateMs = Math.max(0, at - this.#expected);
      this.#worstMs = Math.max(this.#worstMs, lateMs);
      this.#note(at, Math.min(WINDOW_MS, lateMs));
      this.#forgetOld(at);
      this.#expected = at + TICK_MS;
    });
  }

  stop(): void {
    this.#stop();
  }

  /** Returns the maximum lateness since the last call, in milliseconds. */
  takeWorst(): number {
    const worstMs = this.#worstMs;
    this.#worstMs = 0;
    return worstMs;
  }

  /** Returns the 99th percentile of the lateness in the last 10 s, in milliseconds; 0 if there are no samples. */
  p99Ms(): number {
    this.#forgetOld(this.#clock.monotonic());
    const sorted = this.#samples.map(({ lateMs }) => lateMs).sort((a, b) => a - b);
    return sorted[Math.floor((sorted.length - 1) * 0.99)] ?? 0;
  }

  health(): ComponentHealth {
    const ms = Math.round(this.p99Ms());
    const details = `event loop lag: 99th percentile ${ms} ms in the last 10 s`;
    if (ms <= DEGRADED_MS) return { status: "healthy", details };
    const advice =
      "the machine is overloaded, or the engine processes very large payloads; see the engine's CPU usage on the dashboard";
    return { status: ms > UNHEALTHY_MS ? "unhealthy" : "degraded", details: `${details}: ${advice}` };
  }

  /**
   * Adds a sample, and one more for each tick that was skipped during the delay. Each skipped tick was late by
   * `TICK_MS` less than the tick before it.
   */
  #note(at: number, lateMs: number): void {
    this.#samples.push({ at, lateMs });
    for (let late = lateMs - TICK_MS; late > 0; late -= TICK_MS) this.#samples.push({ at, lateMs: late });
  }

  #forgetOld(now: number): void {
    const kept = this.#samples.findIndex(({ at }) => at > now - WINDOW_MS);
    if (kept !== 0) this.#samples.splice(0, kept === -1 ? this.#samples.length : kept);
  }
}
