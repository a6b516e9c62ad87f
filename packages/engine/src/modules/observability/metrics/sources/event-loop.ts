import { systemClock } from "../../../../kernel/clock.ts";

/** How often it looks, in milliseconds. */
const LOOK_MS = 100;

/**
 * How late the engine's event loop runs. A timer of ours rather than Node's `monitorEventLoopDelay`, which takes 0.8 MB. In real time, whatever the
 * module's clock says.
 */
export class EventLoopLag {
  #worst = 0;
  #cancel = (): void => {};

  start(): void {
    const begun = systemClock.monotonic();
    this.#cancel = systemClock.after(LOOK_MS, () => {
      this.#worst = Math.max(this.#worst, systemClock.monotonic() - begun - LOOK_MS);
      this.start();
    });
  }

  /** The longest delay since this was last asked, in milliseconds. */
  take(): number {
    const worst = Math.max(0, this.#worst);
    this.#worst = 0;
    return worst;
  }

  stop(): void {
    this.#cancel();
  }
}
