import { live } from "../../lib/live-connection.ts";
import type { Marker, TappedBatch, TapTotals } from "./message.ts";
import { MessageLog } from "./message-log.ts";

/** What the monitor's own connection is doing. */
export interface MonitorState {
  readonly status: "joining" | "live" | "refused";
  readonly reason: string | null;
  /** It has been live once: that nothing was seen means that nothing passed. */
  readonly hasBeenLive: boolean;
}

/** Watches all messages of stream connections while a page asks it to. It stays when the page is left, so that coming back finds what was seen. */
class Monitor {
  readonly log = new MessageLog(Date.now().toString(36));
  #state: MonitorState = { status: "joining", reason: null, hasBeenLive: false };
  readonly #listeners = new Set<() => void>();
  #away: Marker | undefined;

  readonly getState = (): MonitorState => this.#state;

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  watch(): () => void {
    const leave = live.subscribe("svc.stream.messages", "all", {
      onSync: (data) => {
        const [totals] = data as readonly TapTotals[];
        if (totals !== undefined) this.log.begin(totals);
      },
      onEvent: (event) => {
        if (event.type === "event") this.log.add((event.data as { readonly data: TappedBatch }).data, Date.now());
      },
      // What was missed is not shown, but the engine's totals have it.
      onGap: (reason) => this.log.mark({ what: "gap", timestamp: Date.now(), reason }),
      onStatus: (status, reason) => {
        if (status === "live") this.#isBack();
        else this.#isAway(reason ?? "the connection was lost");
        this.#set({ status, reason, hasBeenLive: this.#state.hasBeenLive || status === "live" });
      },
    });
    return () => {
      leave();
      this.#isAway("the page was left");
      this.#set({ ...this.#state, status: "joining" });
    };
  }

  #isAway(reason: string): void {
    this.log.end();
    if (this.#state.hasBeenLive) this.#away ??= this.log.mark({ what: "away", timestamp: Date.now(), reason }, true);
  }

  #isBack(): void {
    if (this.#away !== undefined) this.log.amend(this.#away, { untilMs: Date.now() });
    this.#away = undefined;
  }

  #set(state: MonitorState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

export const monitor = new Monitor();
