import { formatTerm, parseFilter, readLogQuery } from "@svc-runtime/protocol/query";
import { describe, expect, it } from "vitest";
import { ansiParts, plainText } from "./ansi.ts";
import { chipTerms, searchOfChips } from "./filter-terms.ts";
import type { Log } from "./log.ts";
import { LogBuffer, MAX_FOLLOWED_LOGS, MAX_LOGS } from "./log-buffer.ts";
import { logMatcher } from "./log-match.ts";
import { findRows, markedParts, rowsOf } from "./log-rows.ts";
import { groupSimilar } from "./similar-logs.ts";

function log(id: number, more: Partial<Log> = {}): Log {
  return {
    id: String(id),
    timestamp_ms: id,
    timestamp_unix_nano_text: `${id}000000`,
    severity_number: 9,
    severity_text: "INFO",
    body: `request ${id}`,
    attributes: {},
    resource: {},
    service_name: "api",
    trace_id: null,
    span_id: null,
    ...more,
  };
}

describe("a log filter", () => {
  it("filters live entries as the engine filters stored ones", () => {
    const entry = log(5, {
      severity_text: "ERROR",
      severity_number: 21,
      fatal: true,
      body: "Out of Memory",
      attributes: { "http.status": 503, "svc.function_id": "a::b", "svc.worker.name": "w" },
      trace_id: "abc",
    });
    const matches = (text: string): boolean => logMatcher(readLogQuery(text).query, {})(entry);
    for (const yes of [
      "level:fatal",
      "level:error",
      "level>=warn",
      "-level:info",
      "-level<warn",
      "memory",
      '"of mem"',
      "503",
      "/^out .* m/",
      "fn:a::b",
      "worker:w",
      "trace:ABC",
      "attr.http.status>=500",
      "attr.http.status:503",
      "-attr.nothing:*",
      "function_id:a::b",
      "source~AP",
      "#level:info",
      "error and (worker:x or memory)",
      "not (worker:w and level:info)",
      "fn:a::*",
      "-attr.http.status<500",
    ])
      expect(matches(yes), yes).toBe(true);
    for (const no of [
      "level:info",
      "-level:fatal",
      "level<error",
      "-memory",
      "/^of/",
      "source:web",
      "-source:api",
      "attr.http.status<500",
      "attr.nothing:*",
      "worker:x",
      "-error",
      "not (worker:w or nothing)",
      "fn:b*",
    ])
      expect(matches(no), no).toBe(false);
    expect(logMatcher({ members: {}, groups: [] }, { startMs: 6 })(entry)).toBe(false);
  });

  it("writes every chip to the URL and reads it back", () => {
    const { terms } = parseFilter(
      "level:ERROR source:api -source:cron worker:w fn:a::b trace:t span:s attr.a:1 -resource.h~x #level:warn",
    );
    const { search, rest } = searchOfChips(terms);
    expect(rest).toEqual([]);
    expect(chipTerms(search).map(formatTerm)).toEqual(terms.map(formatTerm));
    expect(searchOfChips(parseFilter("hello level>=warn").terms).rest).toHaveLength(2);
  });
});

describe("the log buffer", () => {
  it("sorts entries by time and removes duplicates, in whatever order they arrive", () => {
    const buffer = new LogBuffer();
    buffer.addLive([log(10), log(12)]);
    buffer.addHistory([log(10), log(9), log(8)]);
    buffer.addLive([log(12), log(11), log(13)]);
    buffer.addHistory([log(7), log(6)]);
    expect(buffer.view(undefined).map(({ timestamp_ms }) => timestamp_ms)).toEqual([13, 12, 11, 10, 9, 8, 7, 6]);
    expect(buffer.view(log(11)).map(({ timestamp_ms }) => timestamp_ms)).toEqual([11, 10, 9, 8, 7, 6]);
  });

  it("stays within its bound, and counts evicted entries", () => {
    const buffer = new LogBuffer();
    buffer.follow(false);
    for (let at = 0; at < 240; at++) buffer.addLive(Array.from({ length: 500 }, (_, index) => log(at * 500 + index)));
    expect(buffer.size).toBeLessThanOrEqual(MAX_LOGS * 1.1);
    expect(buffer.received).toBe(120_000);
    expect(buffer.size + buffer.dropped).toBe(120_000);
    expect(buffer.find("0")).toBeUndefined();
  });
});

describe("a buffer that follows the newest entries", () => {
  const live = (buffer: LogBuffer, from: number, count: number): void =>
    buffer.addLive(Array.from({ length: count }, (_, index) => log(from + index)));

  it("stays small, whatever arrives", () => {
    const buffer = new LogBuffer();
    for (let at = 0; at < 100; at++) live(buffer, at * 500, 500);
    expect(buffer.size).toBeLessThanOrEqual(MAX_FOLLOWED_LOGS * 1.1);
    expect(buffer.newest?.id).toBe("49999");
  });

  it("keeps what is loaded or held back, until it follows again", () => {
    const buffer = new LogBuffer();
    live(buffer, 50_000, 10);
    buffer.addHistory(Array.from({ length: 20_000 }, (_, index) => log(40_000 - index)));
    live(buffer, 50_010, 100);
    expect(buffer.size).toBe(20_110);
    buffer.follow(false);
    for (let at = 0; at < 40; at++) live(buffer, 51_000 + at * 500, 500);
    expect(buffer.size).toBe(40_110);
    buffer.follow(true);
    live(buffer, 80_000, 1);
    expect(buffer.size).toBe(MAX_FOLLOWED_LOGS);
  });
});

describe("rows", () => {
  it("groups entries that differ only in numbers, IDs and quoted strings, newest first", () => {
    const logs = [
      log(3, { body: "user 5 took 12ms" }),
      log(2, { body: "other" }),
      log(1, { body: "user 77 took 3ms" }),
      log(0, { body: "user 1 took 1ms", service_name: "web" }),
    ];
    expect(groupSimilar(logs).map(({ logs: members }) => members.map(({ id }) => id))).toEqual([
      ["3", "1"],
      ["2"],
      ["0"],
    ]);
    const [group] = rowsOf(logs, { grouped: true, open: new Set(), marks: [] });
    expect(group).toMatchObject({ kind: "group", count: 2, isOpen: false });
    expect(rowsOf(logs, { grouped: true, open: new Set([group?.id ?? ""]), marks: [] }).map(({ id }) => id)).toEqual([
      group?.id,
      "3",
      "1",
      "2",
      "0",
    ]);
  });

  it("puts a pause between the entries before and after it", () => {
    const mark = { fromMs: 2, toMs: 3, received: 1, lost: 0 };
    expect(
      rowsOf([log(5), log(1)], { grouped: false, open: new Set(), marks: [mark] }).map(({ kind }) => kind),
    ).toEqual(["log", "pause", "log"]);
  });

  it("finds rows and marks matches, ignoring case", () => {
    const rows = rowsOf([log(2, { body: "A Timeout" }), log(1)], { grouped: false, open: new Set(), marks: [] });
    expect(findRows(rows, "timeOUT")).toEqual([0]);
    expect(markedParts("a Timeout, timeout", "TIMEOUT")).toEqual(["a ", "Timeout", ", ", "timeout", ""]);
  });
});

describe("ANSI colours", () => {
  it("become CSS classes, and other sequences and control characters are removed", () => {
    expect(ansiParts("\u001b[1;31mred\u001b[0m <b>\u001b[2J\u0007 \u001b]0;title\u0007end")).toEqual([
      { text: "red", className: "font-semibold text-danger" },
      { text: " <b>", className: "" },
      { text: " ", className: "" },
      { text: "end", className: "" },
    ]);
    expect(plainText("\u001b[38;5;200mpink\u001b[m\r\u0000!")).toBe("pink!");
  });
});

describe("entries of a cluster", () => {
  it("are in order of time and arrival, though their ids name engines", () => {
    const buffer = new LogBuffer();
    buffer.addLive([2, 10, 1].map((id) => log(id, { id: `${id}@a`, timestamp_ms: 7, node: "a" })));
    expect(buffer.view(undefined).map(({ id }) => id)).toEqual(["10@a", "2@a", "1@a"]);
    expect([buffer.has("2@a"), buffer.has("2@b")]).toEqual([true, false]);
  });
});
