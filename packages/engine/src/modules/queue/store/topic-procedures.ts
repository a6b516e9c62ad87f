import { original, stored } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database } from "../../../store/driver.ts";
import { read, type StoreTime, write } from "../../../store/procedures.ts";
import type { AddJob } from "./add-job.ts";
import { openBacklog } from "./backlog.ts";
import type { JobProcedures } from "./queue-store.ts";

/** Stores subscriptions and the backlog of topics without subscriptions. */
export function openTopicProcedures(database: Database, addJob: AddJob, time: StoreTime) {
  const backlog = openBacklog(database);
  const put = database.prepare(
    "INSERT INTO subscriptions (topic, function, config, seen_at, principal) VALUES (?, ?, ?, ?, ?) ON CONFLICT (topic, function) DO UPDATE SET config = excluded.config, seen_at = excluded.seen_at, principal = excluded.principal",
  );
  const see = database.prepare("UPDATE subscriptions SET seen_at = ? WHERE topic = ? AND function = ?");
  const subscribed = database.prepare("SELECT 1 FROM subscriptions WHERE topic = ? LIMIT 1");
  const drop = database.prepare("DELETE FROM subscriptions WHERE topic = ? AND function = ?");
  type SubscriptionRow = {
    readonly topic: string;
    readonly function: string;
    readonly config: string;
    readonly seen_at: number;
    readonly principal: string;
  };
  const all = database.prepare<SubscriptionRow>(
    "SELECT topic, function, config, seen_at, principal FROM subscriptions ORDER BY topic, function",
  );

  return {
    subscribe: write(({ topic, functionId, config, owner, ageMs, job }) => {
      const now = time.now();
      put.run(stored(topic), stored(functionId), config, now, stored(owner));
      while (backlog.dropOld(now - ageMs) > 0);
      const messages = backlog.takeAll(topic);
      for (const { id, data, bytes, maker, traceparent, baggage } of messages) {
        addJob({ ...job, id: `${id}/${functionId}`, data, bytes, maker, traceparent, baggage });
      }
      return messages.length;
    }),
    unsubscribe: write(({ topic, functionId }) => {
      drop.run(stored(topic), stored(functionId));
    }),
    touchSubscriptions: write(({ subscriptions }) => {
      for (const { topic, functionId } of subscriptions) see.run(time.now(), stored(topic), stored(functionId));
    }),
    subscriptions: read((_: null) =>
      all.all().map((row) => ({
        topic: original(row.topic),
        functionId: original(row.function),
        config: row.config,
        unseenMs: Math.max(0, time.now() - row.seen_at),
        owner: original(row.principal),
      })),
    ),
    addToBacklog: write(({ message, bounds }) => {
      if (subscribed.get(stored(message.topic)) !== undefined) return { old: 0, dropped: 0, hasSubscriptions: true };
      const now = time.now();
      const old = backlog.dropOld(now - bounds.ageMs);
      backlog.put(message, now);
      return { old, dropped: backlog.dropBeyond(message, bounds) };
    }),
    dropOld: write(({ ageMs }) => backlog.dropOld(time.now() - ageMs)),
    backlogs: read((_: null) => backlog.counts()),
  } satisfies Partial<JobProcedures>;
}
