import { beforeEach, describe, expect, it } from "vitest";
import { LogChanged, type LogEntry, type LogState, LogTruncated, LogUnavailable } from "../../store/log.ts";
import { type ManualClock, manualClock } from "../../testing/manual-clock.ts";
import { EntryReader } from "./entry-reader.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const entry = (position: number): LogEntry => ({ position, id: `id${position}`, bytes: new Uint8Array(0) });

let clock: ManualClock;
let state: LogState;
/** Positions that the log does not return. */
let missing: Set<number>;
let isUp: boolean;
let seen: number[];
let failures: Error[];

beforeEach(() => {
  clock = manualClock();
  state = { identity: "log", first: 1, last: 0, bytes: 0 };
  missing = new Set();
  isUp = true;
  seen = [];
  failures = [];
});

async function startFrom(from: number): Promise<EntryReader> {
  const whenUp = async <T>(answer: () => T): Promise<T> => {
    if (!isUp) throw new LogUnavailable("a test");
    return answer();
  };
  const reader = new EntryReader({
    from,
    clock,
    state: () => whenUp(() => state),
    read: (position) =>
      whenUp(() =>
        missing.has(position) || position < state.first || position > state.last ? undefined : entry(position),
      ),
    onEntry: ({ position }) => seen.push(position),
    onFailed: (error) => failures.push(error),
  });
  reader.start();
  await turn();
  return reader;
}

async function advance(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    clock.advance(50);
    await turn();
  }
}

describe("a reader of the log", () => {
  it("reads what was stored before, then gives out live entries at once", async () => {
    state = { ...state, last: 70 };
    const reader = await startFrom(3);
    reader.live(entry(71));
    expect(seen).toEqual(Array.from({ length: 69 }, (_, at) => at + 3));
  });

  it("reads the entries that a later live one shows to be missed, and ignores doubles", async () => {
    const reader = await startFrom(1);
    state = { ...state, last: 4 };
    for (const position of [1, 1, 4, 3]) reader.live(entry(position));
    await turn();
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it("reads an own entry that does not arrive by itself", async () => {
    const reader = await startFrom(1);
    state = { ...state, last: 1 };
    reader.expect(1);
    await advance(150);
    expect(seen).toEqual([1]);
  });

  it("finds missed entries although nothing arrives any more, also after the log was unavailable", async () => {
    await startFrom(1);
    isUp = false;
    state = { ...state, last: 2 };
    await advance(10_000);
    expect(seen).toEqual([]);
    isUp = true;
    await advance(500);
    expect([seen, failures]).toEqual([[1, 2], []]);
  });

  it.each([
    ["the log begins later", LogTruncated, { first: 5, last: 9, bytes: 0 }],
    ["the log ends before what was seen", LogChanged, { last: 1 }],
  ])("fails if %s", async (_, kind, ends) => {
    state = { ...state, ...ends };
    await startFrom(3);
    for (let count = 0; count < 5; count++) await turn();
    expect(failures).toEqual([expect.any(kind)]);
    expect(seen).toEqual([]);
  });

  it("waits for an entry that the log has but does not return, and fails after 15 s", async () => {
    state = { ...state, last: 9 };
    missing = new Set([3]);
    await startFrom(3);
    await advance(14_000);
    expect([seen, failures]).toEqual([[], []]);
    missing.clear();
    await advance(500);
    expect([seen, failures]).toEqual([[3, 4, 5, 6, 7, 8, 9], []]);

    state = { ...state, last: 10 };
    missing = new Set([10]);
    await advance(16_000);
    expect(failures).toEqual([]);
    await advance(2_000);
    expect(failures).toEqual([expect.any(LogChanged)]);
  });

  it("fails if the log is another one than before", async () => {
    const reader = await startFrom(1);
    state = { identity: "other", first: 1, last: 3, bytes: 0 };
    reader.lookAgain();
    await turn();
    expect(failures).toEqual([expect.any(LogChanged)]);
    reader.live(entry(1));
    expect(seen).toEqual([]);
  });

  it("waits for an entry that a new leader of the log does not have yet", async () => {
    const reader = await startFrom(1);
    reader.live(entry(2));
    await turn();
    expect(failures).toEqual([]);
    state = { ...state, last: 2 };
    await advance(500);
    expect(seen).toEqual([1, 2]);
  });

  it("gives out nothing after it was stopped", async () => {
    const reader = await startFrom(1);
    reader.stop();
    reader.live(entry(1));
    state = { ...state, last: 1 };
    await advance(5_000);
    expect(seen).toEqual([]);
  });
});
