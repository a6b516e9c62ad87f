import { original, stored } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database } from "../../../store/driver.ts";
import type { BacklogBounds, BacklogCounts, BacklogMessage } from "./topic.ts";

/** Messages past their time that go in one call; the next call goes on. */
const OLD_AT_ONCE = 1_000;

/** The row that counts all topics together; a topic's name is never empty. */
const ALL = "";

type MessageRow = {
  readonly seq: number;
  readonly id: string;
  readonly topic: string;
  readonly data: string;
  readonly bytes: number;
  readonly traceparent: string | null;
  readonly baggage: string | null;
};
type CountRow = { readonly topic: string; readonly messages: number; readonly bytes: number };

/** Messages of topics that nobody has subscribed to, with counts that are kept. Topics are named as they are stored, where they are `topic`. */
export function openBacklog(database: Database) {
  const insert = database.prepare("INSERT INTO backlog (id, topic, data, bytes, at, traceparent, baggage) VALUES (?, ?, ?, ?, ?, ?, ?)");
  const ofTopic = database.prepare<MessageRow>("SELECT seq, id, topic, data, bytes, traceparent, baggage FROM backlog WHERE topic = ? ORDER BY seq");
  const oldest = database.prepare<MessageRow>("SELECT seq, topic, bytes FROM backlog ORDER BY seq LIMIT 1");
  const oldestOfTopic = database.prepare<MessageRow>("SELECT seq, topic, bytes FROM backlog WHERE topic = ? ORDER BY seq LIMIT 1");
  const old = database.prepare<MessageRow>("SELECT seq, topic, bytes FROM backlog WHERE at <= ? ORDER BY at LIMIT ?");
  const remove = database.prepare("DELETE FROM backlog WHERE seq = ?");
  const removeTopic = database.prepare("DELETE FROM backlog WHERE topic = ?");
  const count = database.prepare(
    "INSERT INTO backlog_counts (topic, messages, bytes) VALUES (?1, ?2, ?3) ON CONFLICT (topic) DO UPDATE SET messages = messages + ?2, bytes = bytes + ?3",
  );
  const uncount = database.prepare("DELETE FROM backlog_counts WHERE topic = ? AND messages <= 0");
  const countsOf = database.prepare<CountRow>("SELECT topic, messages, bytes FROM backlog_counts WHERE topic = ?");
  const all = database.prepare<CountRow>("SELECT topic, messages, bytes FROM backlog_counts WHERE topic <> '' ORDER BY topic");

  function add(topic: string, messages: number, bytes: number): void {
    count.run(topic, messages, bytes);
    count.run(ALL, messages, bytes);
    if (messages < 0) uncount.run(topic);
  }

  function drop({ seq, topic, bytes }: MessageRow): void {
    remove.run(seq);
    add(topic, -1, -bytes);
  }

  return {
    put({ id, topic, data, bytes, traceparent, baggage }: BacklogMessage, now: number): void {
      insert.run(id, stored(topic), data, bytes, now, traceparent ?? null, baggage ?? null);
      add(stored(topic), 1, bytes);
    },
    /** Drops the oldest until topic and all topics are within their bounds; the last message of the topic stays. Answers how many went. */
    dropBeyond(topic: string, bounds: BacklogBounds): number {
      const name = stored(topic);
      let dropped = 0;
      for (let own = countsOf.get(name); own !== undefined && own.messages > 1; own = countsOf.get(name)) {
        const first = own.messages > bounds.messages || own.bytes > bounds.bytes ? oldestOfTopic.get(name) : undefined;
        if (first === undefined) break;
        drop(first);
        dropped += 1;
      }
      for (let sum = countsOf.get(ALL); sum !== undefined && sum.messages > 1; sum = countsOf.get(ALL)) {
        const first = sum.messages > bounds.allMessages || sum.bytes > bounds.allBytes ? oldest.get() : undefined;
        if (first === undefined) break;
        drop(first);
        dropped += 1;
      }
      return dropped;
    },
    /** Answers how many went; ask again until none. */
    dropOld(before: number): number {
      const found = old.all(before, OLD_AT_ONCE);
      for (const row of found) drop(row);
      return found.length;
    },
    /** Takes out what waits for the topic, oldest first. */
    takeAll(topic: string): BacklogMessage[] {
      const name = stored(topic);
      const rows = ofTopic.all(name);
      if (rows.length === 0) return [];
      removeTopic.run(name);
      add(name, -rows.length, -rows.reduce((sum, { bytes }) => sum + bytes, 0));
      return rows.map(({ id, data, bytes, traceparent, baggage }) => ({
        id,
        topic,
        data,
        bytes,
        traceparent: traceparent ?? undefined,
        baggage: baggage ?? undefined,
      }));
    },
    counts: (): BacklogCounts[] => all.all().map(({ topic, messages, bytes }) => ({ topic: original(topic), messages, bytes })),
  };
}
