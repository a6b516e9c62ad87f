import type { TapTotals } from "@svc-runtime/protocol/listings";
import { t } from "../../labels/translate.ts";
import { live } from "../../lib/live-connection.ts";
import type { Marker, TappedBatch } from "./message.ts";
import { MessageLog } from "./message-log.ts";

/** State of the monitor's subscription. */
export interface MonitorState {
  readonly status: "joining" | "live" | "refused";
  readonly reason: string | null;
  /** True if the monitor has been live. An empty log then means that there were no messages. */
  readonly hasBeenLive: boolean;
}

/**
 * Records all messages of stream connections while the page is open. The log stays when the user opens another page.
 */
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
      // Missed messages are not shown, but they are included in the engine's totals.
      onGap: (reason) => this.log.mark({ what: "gap", timestamp: Date.now(), reason }),
      onStatus: (status, reason) => {
        if (status === "live") this.#endAway();
        else this.#startAway(reason ?? t`the connection was lost`);
        this.#set({ status, reason, hasBeenLive: this.#state.hasBeenLive || status === "live" });
      },
    });
    return () => {
      leave();
      this.#startAway(t`the page was left`);
      this.#set({ ...this.#state, status: "joining" });
    };
  }

  #startAway(reason: string): void {
    this.log.end();
    if (this.#state.hasBeenLive) this.#away ??= this.log.mark({ what: "away", timestamp: Date.now(), reason }, true);
  }

  #endAway(): void {
    if (this.#away !== undefined) this.log.updateMarker(this.#away, { untilMs: Date.now() });
    this.#away = undefined;
  }

  #set(state: MonitorState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

export const monitor = new Monitor();
