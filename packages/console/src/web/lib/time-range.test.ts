import { expect, it } from "vitest";
import { absoluteSearch, rangeMs, readMoment, windowOf, writeMoment } from "./time-range.ts";

const NOW = Date.UTC(2026, 10, 22, 12);

it("moves a range with the clock, but not from and to", () => {
  expect(windowOf({ range: "15m" }, "1h", NOW)).toEqual({ startMs: NOW - 900_000 });
  expect(windowOf({}, "1h", NOW)).toEqual({ startMs: NOW - 3_600_000 });
  expect(windowOf({ range: "all" }, "1h", NOW)).toEqual({});
  expect(windowOf({ range: "15m", from: 5, to: 9 }, "1h", NOW)).toEqual({ startMs: 5, endMs: 9 });
  expect(windowOf({ to: 9 }, "1h", NOW)).toEqual({ endMs: 9 });
  expect(rangeMs("7d")).toBe(604_800_000);
  expect(rangeMs("seven")).toBeUndefined();
});

it("resolves a rolling range for a link and keeps the other parameters", () => {
  expect(absoluteSearch({ range: "5m", q: "x" } as { range?: string; q: string }, "15m", NOW)).toEqual({
    q: "x",
    from: NOW - 300_000,
    to: NOW,
  });
  expect(absoluteSearch({}, "15m", NOW)).toEqual({ from: NOW - 900_000, to: NOW });
  expect(absoluteSearch({ range: "all" }, "15m", NOW)).toEqual({ range: "all" });
});

it("parses times with a zone, without one in the page's zone, and as milliseconds", () => {
  expect(readMoment("2026-11-22T12:00:00Z", "Asia/Tokyo")).toBe(NOW);
  expect(readMoment("2026-11-22T14:00:00.5+02:00", "UTC")).toBe(NOW + 500);
  expect(readMoment("2026-11-22 21:00", "Asia/Tokyo")).toBe(NOW);
  expect(readMoment(" 2026-11-22 ", "UTC")).toBe(Date.UTC(2026, 10, 22));
  expect(readMoment(String(NOW), "UTC")).toBe(NOW);
  // On this day Berlin's clocks go back; 03:30 is winter time.
  expect(readMoment("2026-10-25 03:30:00", "Europe/Berlin")).toBe(Date.UTC(2026, 9, 25, 2, 30));
  expect(readMoment("2026-03-29 03:30:00", "Europe/Berlin")).toBe(Date.UTC(2026, 2, 29, 1, 30));
});

it("rejects invalid times", () => {
  for (const text of ["", "yesterday", "2026-02-31", "2026-11-22 25:00", "2026-11-22T12:00:00 nonsense", "15"])
    expect(readMoment(text, "UTC")).toBeUndefined();
});

it("formats a time as it parses it", () => {
  expect(writeMoment(NOW, "Asia/Tokyo")).toBe("2026-11-22 21:00:00");
  expect(readMoment(writeMoment(NOW, "America/New_York"), "America/New_York")).toBe(NOW);
});
