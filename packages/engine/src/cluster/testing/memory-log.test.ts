import { expect, it } from "vitest";
import { LogChanged, LogUnavailable } from "../../store/log.ts";
import { logSuite } from "../../store/testing/log-suite.ts";
import { MemoryLog } from "./memory-log.ts";

logSuite("a log in memory", async () => {
  const log = new MemoryLog();
  return { one: log.connect(), other: log.connect() };
});

const bytes = Buffer.from("A");

it("an append without an acknowledgement may be stored or not, and is stored once when it is tried again", async () => {
  const log = new MemoryLog();
  const faults = ["ackLost", "rejectedUnstored", "none"] as const;
  let appends = 0;
  const connection = log.connect({ onAppend: () => faults[appends++] ?? "none" });
  await expect(connection.append("a", bytes)).rejects.toThrow(LogUnavailable);
  await expect(connection.append("b", bytes)).rejects.toThrow(LogUnavailable);
  expect(log.state().last).toBe(1);
  expect(await connection.append("a", bytes)).toBe(1);
});

it("a reader that was cut off continues where it was", async () => {
  const log = new MemoryLog();
  const [one, other] = [log.connect(), log.connect()];
  const seen: number[] = [];
  const twoSeen = new Promise<void>((resolve, reject) =>
    other.follow(1, ({ position }) => (seen.push(position) === 2 ? resolve() : undefined), reject),
  );
  other.setUp(false);
  await one.append("a", bytes);
  await one.append("b", bytes);
  await expect(other.append("c", bytes)).rejects.toThrow(LogUnavailable);
  expect(seen).toEqual([]);
  other.setUp(true);
  await twoSeen;
  expect(seen).toEqual([1, 2]);
});

it.each([
  ["went back", (log: MemoryLog) => log.goBack(1)],
  ["was replaced", (log: MemoryLog) => log.replace()],
])("a reader is notified when the log %s", async (_, change) => {
  const log = new MemoryLog();
  const connection = log.connect();
  const failed = new Promise((resolve) =>
    connection.follow(1, ({ position }) => position === 2 && change(log), resolve),
  );
  await connection.append("a", bytes);
  await connection.append("b", bytes);
  expect(await failed).toBeInstanceOf(LogChanged);
});
