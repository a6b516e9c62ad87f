import { original, stored } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database } from "../../../store/driver.ts";
import { makerOfRow } from "./job-table.ts";
import { sharesOf } from "./share-limits.ts";
import { storedPrincipal } from "./share-table.ts";
import type { BacklogBounds, BacklogCounts, BacklogMessage } from "./topic.ts";

/** Maximum expired messages deleted per call. The caller repeats the call. */
const MAX_OLD_DELETED = 1_000;

/**
 * Name of the rows that count all topics, or all restricted principals, together. No topic and no restricted principal
 * has an empty name.
 */
const ALL = "";

type MessageRow = {
  readonly seq: number;
  readonly id: string;
  readonly topic: string;
  readonly data: string;
  readonly bytes: number;
  readonly traceparent: string | null;
  readonly baggage: string | null;
  readonly principal: string;
  readonly role: string | null;
};
type CountRow = { readonly topic: string; readonly messages: number; readonly bytes: number };

type Share = ReturnType<typeof sharesOf>;

/**
 * Opens the backlog: the messages of topics without subscriptions, with their counts. In rows and inner functions,
 * `topic` is the stored form of a topic's name.
 */
export function openBacklog(database: Database) {
  const insert = database.prepare(
    "INSERT INTO backlog (id, topic, data, bytes, at, traceparent, baggage, principal, role) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const ofTopic = database.prepare<MessageRow>(
    "SELECT seq, id, topic, data, bytes, traceparent, baggage, principal, role FROM backlog WHERE topic = ? ORDER BY seq",
  );
  const oldest = database.prepare<MessageRow>("SELECT seq, topic, bytes, principal FROM backlog ORDER BY seq LIMIT 1");
  const oldestOfTopic = database.prepare<MessageRow>(
    "SELECT seq, topic, bytes, principal FROM backlog WHERE topic = ? ORDER BY seq LIMIT 1",
  );
  const old = database.prepare<MessageRow>(
    "SELECT seq, topic, bytes, principal FROM backlog WHERE at <= ? ORDER BY at LIMIT ?",
  );
  // These queries find messages of restricted principals. Without INDEXED BY, SQLite reads all messages of the topic in
  // order of seq until it finds one.
  const oldestRestrictedBy = (index: string, condition: string) =>
    database.prepare<MessageRow>(
      `SELECT seq, topic, bytes, principal FROM backlog INDEXED BY ${index} WHERE principal <> '' ${condition} ORDER BY seq LIMIT 1`,
    );
  const oldestOf = oldestRestrictedBy("restricted_backlog_of_principal", "AND principal = ?");
  const oldestInTopicOf = oldestRestrictedBy(
    "restricted_backlog_of_principal_in_topic",
    "AND principal = ? AND topic = ?",
  );
  const oldestRestricted = oldestRestrictedBy("restricted_backlog", "");
  const oldestRestrictedInTopic = oldestRestrictedBy("restricted_backlog_of_topic", "AND topic = ?");
  const remove = database.prepare("DELETE FROM backlog WHERE seq = ?");
  const removeTopic = database.prepare("DELETE FROM backlog WHERE topic = ?");
  const count = database.prepare(
    "INSERT INTO backlog_counts (topic, messages, bytes) VALUES (?1, ?2, ?3) ON CONFLICT (topic) DO UPDATE SET messages = messages + ?2, bytes = bytes + ?3",
  );
  const uncount = database.prepare("DELETE FROM backlog_counts WHERE topic = ? AND messages <= 0");
  const countsOf = database.prepare<CountRow>("SELECT topic, messages, bytes FROM backlog_counts WHERE topic = ?");
  const countShare = database.prepare(
    "INSERT INTO backlog_shares (principal, topic, messages, bytes) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (principal, topic) DO UPDATE SET messages = messages + ?3, bytes = bytes + ?4",
  );
  const uncountShare = database.prepare(
    "DELETE FROM backlog_shares WHERE principal = ? AND topic = ? AND messages <= 0",
  );
  const shareOf = database.prepare<CountRow>(
    "SELECT topic, messages, bytes FROM backlog_shares WHERE principal = ? AND topic = ?",
  );
  const all = database.prepare<CountRow>(
    "SELECT topic, messages, bytes FROM backlog_counts WHERE topic <> '' ORDER BY topic",
  );

  function add({ topic, principal }: Pick<MessageRow, "topic" | "principal">, messages: number, bytes: number): void {
    count.run(topic, messages, bytes);
    count.run(ALL, messages, bytes);
    if (messages < 0) uncount.run(topic);
    if (principal === "") return;
    for (const of of [principal, ALL]) {
      for (const inTopic of [topic, ALL]) {
        countShare.run(of, inTopic, messages, bytes);
        if (messages < 0) uncountShare.run(of, inTopic);
      }
    }
  }

  function drop(row: MessageRow): void {
    remove.run(row.seq);
    add(row, -1, -row.bytes);
  }

  /**
   * Drops the messages that `next` returns, until the counts are within both bounds or only one message is left.
   * Returns the number of dropped messages.
   */
  function dropWhile(
    counted: () => CountRow | undefined,
    messages: number,
    bytes: number,
    next: () => MessageRow | undefined,
  ): number {
    let dropped = 0;
    for (
      let has = counted();
      has !== undefined && has.messages > 1 && (has.messages > messages || has.bytes > bytes);
      has = counted()
    ) {
      const first = next();
      if (first === undefined) break;
      drop(first);
      dropped += 1;
    }
    return dropped;
  }

  /**
   * Drops the oldest messages of a restricted principal until it is within its share. Then drops the oldest messages of
   * any restricted principals until all of them together are within their common share.
   */
  function dropBeyondShare(principal: string, topic: string, bounds: BacklogBounds): number {
    const [inTopic, inTopicBytes, inAll, inAllBytes] = [
      bounds.messages,
      bounds.bytes,
      bounds.allMessages,
      bounds.allBytes,
    ].map(sharesOf) as [Share, Share, Share, Share];
    return (
      dropWhile(
        () => shareOf.get(principal, topic),
        inTopic.each,
        inTopicBytes.each,
        () => oldestInTopicOf.get(principal, topic),
      ) +
      dropWhile(
        () => shareOf.get(principal, ALL),
        inAll.each,
        inAllBytes.each,
        () => oldestOf.get(principal),
      ) +
      dropWhile(
        () => shareOf.get(ALL, topic),
        inTopic.restricted,
        inTopicBytes.restricted,
        () => oldestRestrictedInTopic.get(topic),
      ) +
      dropWhile(
        () => shareOf.get(ALL, ALL),
        inAll.restricted,
        inAllBytes.restricted,
        () => oldestRestricted.get(),
      )
    );
  }

  return {
    put({ id, topic, data, bytes, maker, traceparent, baggage }: BacklogMessage, now: number): void {
      const principal = storedPrincipal(maker?.principal);
      const role = maker?.role === undefined ? null : stored(maker.role);
      insert.run(id, stored(topic), data, bytes, now, traceparent ?? null, baggage ?? null, principal, role);
      add({ topic: stored(topic), principal }, 1, bytes);
    },
    /**
     * Drops the oldest messages until all bounds hold, messages of restricted principals first. Call it after `put`.
     * A single message that exceeds a bound is kept.
     */
    dropBeyond({ topic, maker }: Pick<BacklogMessage, "topic" | "maker">, bounds: BacklogBounds): number {
      const name = stored(topic);
      const ofShare = maker === undefined ? 0 : dropBeyondShare(storedPrincipal(maker.principal), name, bounds);
      return (
        ofShare +
        dropWhile(
          () => countsOf.get(name),
          bounds.messages,
          bounds.bytes,
          () => oldestRestrictedInTopic.get(name) ?? oldestOfTopic.get(name),
        ) +
        dropWhile(
          () => countsOf.get(ALL),
          bounds.allMessages,
          bounds.allBytes,
          () => oldestRestricted.get() ?? oldest.get(),
        )
      );
    },
    /**
     * Drops messages published at or before `before`, a limited number per call. Returns their number; repeat until it
     * is 0.
     */
    dropOld(before: number): number {
      const found = old.all(before, MAX_OLD_DELETED);
      for (const row of found) drop(row);
      return found.length;
    },
    /** Removes and returns the messages of the topic, oldest first. */
    takeAll(topic: string): BacklogMessage[] {
      const name = stored(topic);
      const rows = ofTopic.all(name);
      if (rows.length === 0) return [];
      removeTopic.run(name);
      const ofTrusted = rows.filter(({ principal }) => principal === "");
      if (ofTrusted.length > 0)
        add({ topic: name, principal: "" }, -ofTrusted.length, -ofTrusted.reduce((sum, { bytes }) => sum + bytes, 0));
      for (const row of rows) if (row.principal !== "") add(row, -1, -row.bytes);
      return rows.map(({ id, data, bytes, principal, role, traceparent, baggage }) => ({
        id,
        topic,
        data,
        bytes,
        maker: makerOfRow({ principal, role }),
        traceparent: traceparent ?? undefined,
        baggage: baggage ?? undefined,
      }));
    },
    counts: (): BacklogCounts[] =>
      all.all().map(({ topic, messages, bytes }) => ({ topic: original(topic), messages, bytes })),
  };
}
