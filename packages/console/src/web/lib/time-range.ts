import { t } from "../labels/translate.ts";
import type { Zone } from "./time.ts";

/**
 * Time range of a page in its address. `range` moves with the clock (`15m`, `all`). `from` and `to` are fixed times, in
 * milliseconds since 1970.
 */
export interface RangeSearch {
  readonly range?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Start and end in milliseconds since 1970. A side that is absent is not limited. */
export interface TimeWindow {
  readonly startMs?: number;
  readonly endMs?: number;
}

export const RANGE_PRESETS = [
  { value: "5m", label: t`Last 5 minutes` },
  { value: "15m", label: t`Last 15 minutes` },
  { value: "1h", label: t`Last hour` },
  { value: "6h", label: t`Last 6 hours` },
  { value: "24h", label: t`Last 24 hours` },
  { value: "7d", label: t`Last 7 days` },
  { value: "all", label: t`All stored data` },
] as const;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns the length of a range such as `15m`, in milliseconds. Returns undefined for `all` and for an invalid range.
 */
export function rangeMs(range: string): number | undefined {
  const found = /^(\d+)([smhd])$/.exec(range);
  const unit = UNIT_MS[found?.[2] ?? ""];
  return found === null || unit === undefined ? undefined : Number(found[1]) * unit;
}

/**
 * Returns the start and end of an address's range at the given time. `fallback` is used if the address has no range.
 */
export function windowOf(search: RangeSearch, fallback: string, nowMs: number): TimeWindow {
  const { from, to } = search;
  if (from !== undefined || to !== undefined)
    return { ...(from === undefined ? {} : { startMs: from }), ...(to === undefined ? {} : { endMs: to }) };
  const length = rangeMs(search.range ?? fallback);
  return length === undefined ? {} : { startMs: nowMs - length };
}

/**
 * Replaces a range that moves with the clock by its `from` and `to`, so that the address shows the same data later.
 * `all` stays unchanged.
 */
export function absoluteSearch<Search extends RangeSearch>(search: Search, fallback: string, nowMs: number): Search {
  const { startMs, endMs } = windowOf(search, fallback, nowMs);
  if (startMs === undefined && endMs === undefined) return search;
  const { range: _, ...rest } = search;
  return {
    ...rest,
    ...(startMs === undefined ? {} : { from: Math.floor(startMs) }),
    to: Math.ceil(endMs ?? nowMs),
  } as Search;
}

/** Parses a time: ISO 8601, or milliseconds since 1970. If ISO 8601 has no zone, the page's zone is used. */
export function readMoment(text: string, zone: Zone): number | undefined {
  const trimmed = text.trim();
  if (/^\d{12,14}$/.test(trimmed)) return Number(trimmed);
  const bare = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?$/.exec(trimmed);
  if (bare === null) {
    if (!/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*(?:Z|[+-]\d{2}:?\d{2})$/i.test(trimmed)) return undefined;
    const ms = Date.parse(trimmed.replace(" ", "T"));
    return Number.isNaN(ms) ? undefined : ms;
  }
  const [year, month, day, hour = 0, minute = 0, second = 0] = bare
    .slice(1, 7)
    .map((part) => (part === undefined ? undefined : Number(part)));
  const fraction = Number(`0.${bare[7] ?? "0"}`) * 1_000;
  const wall = Date.UTC(year as number, (month as number) - 1, day, hour, minute, second, Math.floor(fraction));
  const back = new Date(wall);
  // The date is checked, because 31 February or hour 25 would be accepted as a time on another day.
  if (back.getUTCDate() !== day || back.getUTCMonth() !== (month as number) - 1 || back.getUTCHours() !== hour)
    return undefined;
  // The zone's offset depends on the time itself. So it is estimated, and then computed again for the estimated time;
  // the two differ near a clock change.
  const guess = wall - offsetMs(wall, zone);
  return wall - offsetMs(guess, zone);
}

const WALL: Intl.DateTimeFormatOptions = {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
};

function wallParts(ms: number, zone: Zone): Readonly<Record<string, string>> {
  const format = new Intl.DateTimeFormat("en-GB", { ...WALL, ...(zone === "local" ? {} : { timeZone: zone }) });
  return Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
}

function offsetMs(ms: number, zone: Zone): number {
  const { year, month, day, hour, minute, second } = wallParts(ms, zone);
  return (
    Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)) -
    Math.floor(ms / 1_000) * 1_000
  );
}

/** Formats a time as `2026-11-22 14:03:27` in the zone. `readMoment` parses this form. */
export function writeMoment(ms: number, zone: Zone): string {
  const { year, month, day, hour, minute, second } = wallParts(ms, zone);
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`;
}

// Default range of the time range control that is shown. The copied link needs it.
let shown: { readonly fallback: string } | undefined;
export const shownRange = {
  get: (): { readonly fallback: string } | undefined => shown,
  set(next: { readonly fallback: string } | undefined): void {
    shown = next;
  },
};
