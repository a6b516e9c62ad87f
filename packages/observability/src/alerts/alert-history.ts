import type { AlertEvent } from "./alert-event.ts";

const MAX_EVENTS = 1_000;

/** The last events of all alerts, in memory; the oldest are evicted first. */
export class AlertHistory {
  #events: { readonly seq: number; readonly event: AlertEvent }[] = [];
  #seq = 0;

  add(event: AlertEvent): void {
    this.#events.push({ seq: ++this.#seq, event });
    // Keeps up to twice the maximum and shortens the array rarely, because removing the first element at each event
    // would move all the others.
    if (this.#events.length >= 2 * MAX_EVENTS) this.#events = this.#latest();
  }

  /**
   * Returns a page of events, the latest first. `cursor` is the one that the previous page returned. `total` counts all
   * matching events.
   */
  page({
    name,
    limit,
    cursor,
  }: {
    readonly name: string | undefined;
    readonly limit: number;
    readonly cursor: number | undefined;
  }) {
    const fitting = this.#latest()
      .filter(({ event }) => name === undefined || event.name === name)
      .reverse();
    const behind = cursor === undefined ? fitting : fitting.filter(({ seq }) => seq < cursor);
    const page = behind.slice(0, limit);
    return {
      events: page.map(({ event }) => event),
      cursor: behind.length > limit ? String(page.at(-1)?.seq) : null,
      total: fitting.length,
    };
  }

  #latest(): { readonly seq: number; readonly event: AlertEvent }[] {
    return this.#events.slice(-MAX_EVENTS);
  }
}
