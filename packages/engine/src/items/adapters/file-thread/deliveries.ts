import type { Database } from "../../../store/driver.ts";
import { Refusal, read, write } from "../../../store/procedures.ts";
import { type Delivery, type ItemChange, MAX_WAITING_DELIVERIES, tooManyDeliveriesText } from "../../outbox.ts";
import { fitting } from "./ranges.ts";
import { original, stored } from "./stored-text.ts";

/** A notice in the form that is sent between threads. */
export interface NoticeInput {
  readonly watchers: readonly { readonly id: string; readonly kinds: readonly ItemChange["kind"][] }[];
  readonly origin: string;
}

/** Origin that is stored with a change if the writer did not know that the item has watchers. */
export const UNKNOWN_ORIGIN = '{"d":0,"c":[]}';

export interface PendingInput {
  readonly watcher: string;
  readonly after: number;
  readonly limit: number;
  readonly maxBytes: number;
}

/** One step of discarding a watcher's deliveries. */
export interface DiscardInput {
  readonly watcher: string;
  /** Last sequence number to discard; undefined in the first step. */
  readonly upTo: number | undefined;
}

export interface DiscardOutput {
  readonly discarded: number;
  /** Input of the next step; undefined if this was the last step. */
  readonly upTo: number | undefined;
}

/** Sequence number of a change in the outbox, and its watchers. */
export interface LoggedChange {
  readonly seq: number;
  readonly watchers: readonly string[];
}

interface SizeRow {
  readonly [column: string]: number;
  readonly seq: number;
  readonly bytes: number;
}

type ChangeRow = {
  readonly seq: number;
  readonly kind: ItemChange["kind"];
  readonly scope: string;
  readonly key: string;
  readonly version: number;
  readonly at: number;
  readonly origin: string;
  readonly previous: string | null;
  readonly json: string | null;
};

/** Maximum number of deliveries that one call discards, so that other calls are not blocked for long. */
const MAX_DISCARDED_AT_ONCE = 5_000;

/** The part of the outbox that is used by writes of items. */
export interface ChangeLog {
  /** Stores a change for its watchers. Returns undefined if no watcher wants it. Throws Refusal `overloaded`. */
  put(change: ItemChange, notice: NoticeInput, bytes: number): LoggedChange | undefined;
}

export function openChangeLog(database: Database): ChangeLog {
  const insert = database.prepare(
    "INSERT INTO changes (kind, scope, key, version, at, bytes, origin, previous, json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const countUp = database.prepare(
    "INSERT INTO watchers (name, waiting) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET waiting = waiting + 1",
  );
  const watcherNamed = database.prepare<{ readonly id: number; readonly waiting: number }>(
    "SELECT id, waiting FROM watchers WHERE name = ?",
  );
  const deliver = database.prepare("INSERT INTO deliveries (seq, watcher) VALUES (?, ?)");

  return {
    put(change, notice, bytes) {
      const watchers = notice.watchers.filter(({ kinds }) => kinds.includes(change.kind)).map(({ id }) => id);
      if (watchers.length === 0) return undefined;
      const { kind, scope, key, version, at, previous, json } = change;
      const { rowid: seq } = insert.run(
        kind,
        stored(scope),
        stored(key),
        version,
        at,
        bytes,
        stored(notice.origin),
        previous ?? null,
        json ?? null,
      );
      for (const watcher of watchers) {
        countUp.run(stored(watcher));
        const { id, waiting } = watcherNamed.get(stored(watcher)) ?? { id: 0, waiting: 0 };
        if (waiting > MAX_WAITING_DELIVERIES) {
          throw new Refusal("overloaded", tooManyDeliveriesText(watcher, waiting - 1), {
            watcher,
            waiting: waiting - 1,
          });
        }
        deliver.run(seq, id);
      }
      return { seq, watchers };
    },
  };
}

/**
 * Returns a function that deletes all deliveries of a watcher and returns their number. It takes the encoded name of
 * the watcher (`stored`).
 */
export function openDropDeliveries(database: Database): (name: string) => number {
  const watcherNamed = database.prepare<{ readonly id: number }>("SELECT id FROM watchers WHERE name = ?");
  const dropChanges = database.prepare(
    `DELETE FROM changes WHERE seq IN (SELECT seq FROM deliveries WHERE watcher = ?1)
     AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.seq = changes.seq AND watcher <> ?1)`,
  );
  const dropDeliveries = database.prepare("DELETE FROM deliveries WHERE watcher = ?");
  const dropWatcher = database.prepare("DELETE FROM watchers WHERE id = ?");
  return (name) => {
    const id = watcherNamed.get(name)?.id;
    if (id === undefined) return 0;
    dropChanges.run(id);
    const { changes } = dropDeliveries.run(id);
    dropWatcher.run(id);
    return changes;
  };
}

export function openDeliveryProcedures(database: Database) {
  const watcherNamed = database.prepare<{ readonly id: number }>("SELECT id FROM watchers WHERE name = ?");
  const sizes = database.prepare<SizeRow>(
    "SELECT changes.seq AS seq, bytes FROM deliveries CROSS JOIN changes ON changes.seq = deliveries.seq WHERE watcher = ? AND deliveries.seq > ? ORDER BY deliveries.seq LIMIT ?",
  );
  const change = database.prepare<ChangeRow>(
    "SELECT seq, kind, scope, key, version, at, origin, previous, json FROM changes WHERE seq = ?",
  );
  const take = database.prepare("DELETE FROM deliveries WHERE seq = ? AND watcher = ?");
  const countDown = database.prepare("UPDATE watchers SET waiting = waiting - 1 WHERE id = ?");
  const dropChange = database.prepare(
    "DELETE FROM changes WHERE seq = ?1 AND NOT EXISTS (SELECT 1 FROM deliveries WHERE seq = ?1)",
  );
  const waitingSeqs = database.prepare<{ readonly seq: number }>(
    "SELECT seq FROM deliveries WHERE watcher = ? AND seq <= ? ORDER BY seq LIMIT ?",
  );
  const lastWaiting = database.prepare<{ readonly seq: number }>(
    "SELECT seq FROM deliveries WHERE watcher = ? ORDER BY seq DESC LIMIT 1",
  );
  const allWaiting = database.prepare<{ readonly name: string; readonly waiting: number }>(
    "SELECT name, waiting FROM watchers WHERE waiting > 0 ORDER BY name",
  );
  const dropWatcher = database.prepare("DELETE FROM watchers WHERE id = ? AND waiting = 0");

  function pending({ watcher, after, limit, maxBytes }: PendingInput): readonly Delivery[] {
    const id = watcherNamed.get(stored(watcher))?.id;
    if (id === undefined) return [];
    return fitting(sizes.all(id, after, limit), maxBytes).flatMap(({ seq }) => {
      const row = change.get(seq);
      return row === undefined ? [] : [deliveryOf(watcher, row)];
    });
  }

  function removeDelivery(watcher: number, seq: number): void {
    if (take.run(seq, watcher).changes === 0) return;
    countDown.run(watcher);
    dropChange.run(seq);
  }

  function acknowledge(deliveries: readonly Pick<Delivery, "seq" | "watcher">[]): void {
    const ids = new Map<string, number | undefined>();
    for (const { seq, watcher } of deliveries) {
      if (!ids.has(watcher)) ids.set(watcher, watcherNamed.get(stored(watcher))?.id);
      const id = ids.get(watcher);
      if (id !== undefined) removeDelivery(id, seq);
    }
    // Delete watchers that have no deliveries left.
    for (const id of ids.values()) if (id !== undefined) dropWatcher.run(id);
  }

  /**
   * Runs one step. The first step determines the last sequence number to discard, so deliveries that are added later
   * are kept.
   */
  function discard({ watcher, upTo }: DiscardInput): DiscardOutput {
    const id = watcherNamed.get(stored(watcher))?.id;
    if (id === undefined) return { discarded: 0, upTo: undefined };
    const end = upTo ?? lastWaiting.get(id)?.seq ?? 0;
    const seqs = waitingSeqs.all(id, end, MAX_DISCARDED_AT_ONCE);
    for (const { seq } of seqs) removeDelivery(id, seq);
    dropWatcher.run(id);
    return { discarded: seqs.length, upTo: seqs.length < MAX_DISCARDED_AT_ONCE ? undefined : end };
  }

  return {
    pending: read(pending),
    acknowledge: write(acknowledge),
    discard: write(discard),
    watchers: read((_: null) => allWaiting.all().map(({ name, waiting }) => ({ watcher: original(name), waiting }))),
  };
}

function deliveryOf(watcher: string, row: ChangeRow): Delivery {
  const { kind, version, at } = row;
  const change = {
    kind,
    scope: original(row.scope),
    key: original(row.key),
    version,
    previous: row.previous ?? undefined,
    json: row.json ?? undefined,
    at,
  };
  return { seq: row.seq, watcher, change, origin: original(row.origin) };
}
