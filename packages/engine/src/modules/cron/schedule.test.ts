import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalExpression } from "./expression.ts";
import { checkedExpression, scheduleOf, within } from "./schedule.ts";

const NEW_YEAR = Date.parse("2026-01-01T00:00:00Z");

function ticks(text: string, zone: string, from: string, count: number): string[] {
  const schedule = scheduleOf(checkedExpression(text, zone, NEW_YEAR), zone);
  const found: string[] = [];
  for (
    let tick = schedule.next(Date.parse(from));
    tick !== undefined && found.length < count;
    tick = schedule.next(tick)
  )
    found.push(text_(tick));
  return found;
}
const text_ = (instant: number): string => new Date(instant).toISOString().replace(":00.000Z", "Z");

describe("cron expressions", () => {
  it.each([
    ["five fields", "30 9 * * *", ["2026-01-01T09:30Z", "2026-01-02T09:30Z"]],
    ["six fields, seconds first", "15 30 9 * * *", ["2026-01-01T09:30:15.000Z", "2026-01-02T09:30:15.000Z"]],
    ["seven fields, with a year", "0 0 0 1 JAN * 2030-2031", ["2030-01-01T00:00Z", "2031-01-01T00:00Z"]],
    ["names in any case", "0 9 * jan MON-fri", ["2026-01-01T09:00Z", "2026-01-02T09:00Z"]],
    ["lists, ranges and steps", "0 8-10/2,20 * * *", ["2026-01-01T08:00Z", "2026-01-01T10:00Z", "2026-01-01T20:00Z"]],
    ["a step from a number on", "0 5/10 * * * *", ["2026-01-01T00:05Z", "2026-01-01T00:15Z"]],
    ["? for any", "0 0 12 ? * MON", ["2026-01-05T12:00Z", "2026-01-12T12:00Z"]],
    ["Sunday as 0", "0 0 * * 0", ["2026-01-04T00:00Z"]],
    ["Sunday as 7", "0 0 * * 7", ["2026-01-04T00:00Z"]],
    ["Monday as 1", "0 0 * * 1", ["2026-01-05T00:00Z"]],
    [
      "the day of the month or that of the week",
      "0 0 15 * MON",
      ["2026-01-05T00:00Z", "2026-01-12T00:00Z", "2026-01-15T00:00Z"],
    ],
    ["the last day of a month", "0 0 L * *", ["2026-01-31T00:00Z", "2026-02-28T00:00Z"]],
    ["the first Monday", "0 0 * * MON#1", ["2026-01-05T00:00Z", "2026-02-02T00:00Z"]],
    ["@hourly", "@hourly", ["2026-01-01T01:00Z"]],
    ["@daily", "@daily", ["2026-01-02T00:00Z"]],
    ["@midnight", "@Midnight", ["2026-01-02T00:00Z"]],
    ["@weekly", "@weekly", ["2026-01-04T00:00Z"]],
    ["@monthly", "@monthly", ["2026-02-01T00:00Z"]],
    ["@yearly", "@yearly", ["2027-01-01T00:00Z"]],
    ["29 February", "0 0 29 2 *", ["2028-02-29T00:00Z"]],
  ])("may have %s (gap 17)", (_, expression, expected) => {
    expect(ticks(expression, "UTC", "2026-01-01T00:00:00Z", expected.length)).toEqual(expected);
  });

  it.each([
    ["0 25 * * *", "field 2 (hour), character 3: '25' is invalid (Invalid value for hour: 25); allowed: 0 to 23"],
    ["0 0 0 32 * *", "field 4 (day of the month), character 7: '32'"],
    ["*  *  *  FOO *", "field 4 (month), character 10: 'FOO'"],
    ["0 0 * * 8", "field 5 (day of the week), character 9: '8'"],
    ["61 * * * * *", "field 1 (second), character 1: '61'"],
    ["* * * * * * 20x6", "field 7 (year), character 13: '20X6'"],
    ["*/0 * * * *", "field 1 (minute), character 1: '*/0'"],
    ["5-1 * * * *", "field 1 (minute), character 1: '5-1'"],
    ["1,,2 * * * *", "field 1 (minute), character 1: '1,,2'"],
    ["* * *", "there are 3 fields; use five"],
    ["* * * * * * * *", "there are 8 fields"],
    ["  ", "there are 0 fields"],
    ["@reboot", "unknown shorthand; use one of @yearly"],
    ["0 0 30 2 *", "no date matches it"],
    ["0 0 30 2 * ".padEnd(300, "*"), "has more than 256 characters"],
  ])("are refused with the field and the character: %s (T-7)", (expression, message) => {
    expect(() => checkedExpression(expression, "UTC", NEW_YEAR)).toThrow(message);
    expect(() => checkedExpression(expression, "UTC", NEW_YEAR)).toThrow(/^Invalid cron expression '/);
  });

  it("have one canonical form", () => {
    for (const same of ["0 9 * * mon", " 0  9 *\t* MON ", "0 0 9 * * Mon"])
      expect(canonicalExpression(same)).toBe("0 0 9 * * MON");
    expect(canonicalExpression("@daily")).toBe(canonicalExpression("0 0 * * *"));
  });

  it("whose years are over are no slip: they have no tick any more", () => {
    expect(ticks("0 0 0 1 1 * 2020", "UTC", "2026-01-01T00:00:00Z", 1)).toEqual([]);
  });
});

describe("a schedule in a time zone", () => {
  it("follows the zone's clock through the year (gap 17)", () => {
    expect(ticks("0 9 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 2)).toEqual([
      "2026-03-28T08:00Z",
      "2026-03-29T07:00Z",
    ]);
    expect(ticks("0 9 * * *", "America/New_York", "2026-10-31T00:00:00Z", 2)).toEqual([
      "2026-10-31T13:00Z",
      "2026-11-01T14:00Z",
    ]);
  });

  it.each([
    ["Europe/Berlin", "30 2 * * *", "2026-03-28T00:00:00Z", ["2026-03-28T01:30Z", "2026-03-30T00:30Z"]],
    ["Europe/Berlin", "0 2 * * *", "2026-03-28T00:00:00Z", ["2026-03-28T01:00Z", "2026-03-30T00:00Z"]],
    ["Europe/Berlin", "15 2-3 * * *", "2026-03-29T00:00:00Z", ["2026-03-29T01:15Z", "2026-03-30T00:15Z"]],
    ["America/New_York", "30 2 * * *", "2026-03-07T00:00:00Z", ["2026-03-07T07:30Z", "2026-03-09T06:30Z"]],
    [
      "Europe/Berlin",
      "*/30 * * * *",
      "2026-03-29T00:00:00Z",
      ["2026-03-29T00:30Z", "2026-03-29T01:00Z", "2026-03-29T01:30Z"],
    ],
  ])(
    "in %s skips times that do not exist when clocks go forward: %s (T-5) (gap 17)",
    (zone, expression, from, expected) => {
      expect(ticks(expression, zone, from, expected.length)).toEqual(expected);
    },
  );

  it.each([
    ["Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]],
    [
      "Europe/Berlin",
      "0,30 2,3 * * *",
      "2026-10-24T22:00:00Z",
      ["2026-10-25T00:00Z", "2026-10-25T00:30Z", "2026-10-25T02:00Z"],
    ],
    ["America/New_York", "30 1 * * *", "2026-10-31T12:00:00Z", ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]],
    // Expressions with a wildcard also tick in the repeated hour: a gap of an hour would be a surprise.
    [
      "Europe/Berlin",
      "*/30 * * * *",
      "2026-10-25T00:00:00Z",
      ["2026-10-25T00:30Z", "2026-10-25T01:00Z", "2026-10-25T01:30Z", "2026-10-25T02:00Z"],
    ],
  ])(
    "in %s has times that come twice once when clocks go back: %s (T-5) (gap 17)",
    (zone, expression, from, expected) => {
      expect(ticks(expression, zone, from, expected.length)).toEqual(expected);
    },
  );

  it("does not have the second of two equal times when it is asked between them", () => {
    expect(ticks("30 2 * * *", "Europe/Berlin", "2026-10-25T01:00:00Z", 1)).toEqual(["2026-10-26T01:30Z"]);
  });

  it("finds the same ticks forward and backward", () => {
    const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];
    const expressions = [
      "0 */20 * * * *",
      "0 30 1,2,3 * * *",
      "0 0 2 * * SUN",
      "0 15 2 L * *",
      "30 0 3 1 * *",
      "0 0 0 * * MON#2",
    ];
    const hour = fc.integer({ min: 0, max: 24 * 365 });
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...expressions),
        hour,
        fc.integer({ min: 1, max: 96 }),
        (zone, expression, start, hours) => {
          const schedule = scheduleOf(expression, zone);
          const after = NEW_YEAR + start * 3_600_000 + 17_000;
          const until = after + hours * 3_600_000;
          const forward: number[] = [];
          for (let tick = schedule.next(after); tick !== undefined && tick <= until; tick = schedule.next(tick))
            forward.push(tick);
          expect(schedule.latest(10, after, until)).toEqual(forward.slice(-10));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("has ticks from its start to its end, both included", () => {
    const daily = within(
      () => scheduleOf("0 0 0 * * *", "UTC"),
      Date.parse("2026-02-01T00:00:00Z"),
      Date.parse("2026-02-02T00:00:00Z"),
    );
    expect(daily.next(NEW_YEAR)).toBe(Date.parse("2026-02-01T00:00:00Z"));
    expect(daily.next(Date.parse("2026-02-01T00:00:00Z"))).toBe(Date.parse("2026-02-02T00:00:00Z"));
    expect(daily.next(Date.parse("2026-02-02T00:00:00Z"))).toBeUndefined();
    expect(daily.latest(10, NEW_YEAR, Date.parse("2026-03-01T00:00:00Z")).map(text_)).toEqual([
      "2026-02-01T00:00Z",
      "2026-02-02T00:00Z",
    ]);
  });
});
