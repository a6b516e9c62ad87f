import { original, stored } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database } from "../../../store/driver.ts";
import { read, type StoreRuns, type StoreTime, write } from "../../../store/procedures.ts";
import type { AddJob } from "./add-job.ts";
import { openBacklog } from "./backlog.ts";
import type { JobProcedures, SubscriptionHolder } from "./queue-store.ts";

/** Stores subscriptions and the backlog of topics without subscriptions. */
export function openTopicProcedures(
  database: Database,
  {
    addJob,
    purge,
    time,
    runs,
  }: {
    readonly addJob: AddJob;
    readonly purge: JobProcedures["purge"]["run"];
    readonly time: StoreTime;
    readonly runs: StoreRuns;
  },
) {
  const backlog = openBacklog(database);
  const put = database.prepare(
    "INSERT INTO subscriptions (topic, function, config, seen_at, principal) VALUES (?, ?, ?, ?, ?) ON CONFLICT (topic, function) DO UPDATE SET config = excluded.config, seen_at = excluded.seen_at, principal = excluded.principal",
  );
  const see = database.prepare("UPDATE subscriptions SET seen_at = ? WHERE topic = ? AND function = ?");
  const subscribed = database.prepare("SELECT 1 FROM subscriptions WHERE topic = ? LIMIT 1");
  const drop = database.prepare("DELETE FROM subscriptions WHERE topic = ? AND function = ?");
  const one = database.prepare("SELECT 1 FROM subscriptions WHERE topic = ? AND function = ?");
  const hold = database.prepare("INSERT OR IGNORE INTO subscription_holders (topic, function, run) VALUES (?, ?, ?)");
  const release = database.prepare("DELETE FROM subscription_holders WHERE topic = ? AND function = ? AND run = ?");
  const releaseAll = database.prepare("DELETE FROM subscription_holders WHERE run = ?");
  const holders = database.prepare<{ readonly run: string }>(
    "SELECT run FROM subscription_holders WHERE topic = ? AND function = ? ORDER BY run",
  );
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

  function releaseOne({ topic, functionId, run }: SubscriptionHolder): void {
    if (run !== undefined) release.run(stored(topic), stored(functionId), run);
  }

  /**
   * Returns whether a run that is a member of the cluster has a trigger of the subscription. Deletes the entries of
   * other runs. Both names are in stored form.
   */
  function isHeld(topic: string, functionId: string): boolean {
    let isFound = false;
    for (const { run } of holders.all(topic, functionId)) {
      if (runs.isMember(run)) isFound = true;
      else release.run(topic, functionId, run);
    }
    return isFound;
  }

  return {
    subscribe: write(({ topic, functionId, config, owner, run, ageMs, job }) => {
      const now = time.now();
      put.run(stored(topic), stored(functionId), config, now, stored(owner));
      if (run !== undefined) {
        hold.run(stored(topic), stored(functionId), run);
        isHeld(stored(topic), stored(functionId));
      }
      while (backlog.dropOld(now - ageMs) > 0);
      const messages = backlog.takeAll(topic);
      for (const { id, data, bytes, maker, traceparent, baggage } of messages) {
        addJob({ ...job, id: `${id}/${functionId}`, data, bytes, maker, traceparent, baggage });
      }
      return messages.length;
    }),
    releaseSubscription: write(releaseOne),
    unsubscribe: write((input) => {
      const [topic, functionId] = [stored(input.topic), stored(input.functionId)];
      releaseOne(input);
      if (isHeld(topic, functionId)) return false;
      drop.run(topic, functionId);
      return true;
    }),
    purgeEnded: write(({ topic, functionId, queue, limit }) =>
      one.get(stored(topic), stored(functionId)) === undefined ? purge({ queue, limit }) : 0,
    ),
    touchSubscriptions: write(({ subscriptions, run }) => {
      if (run !== undefined) releaseAll.run(run);
      for (const { topic, functionId } of subscriptions) {
        see.run(time.now(), stored(topic), stored(functionId));
        if (run !== undefined) hold.run(stored(topic), stored(functionId), run);
      }
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
