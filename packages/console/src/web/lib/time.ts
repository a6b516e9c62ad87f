import { useSyncExternalStore } from "react";
import { t } from "../labels/translate.ts";

/** `local`, `UTC`, or an IANA zone such as `Europe/Berlin`. */
export type Zone = string;
const KEY = "svc.zone";

let zone: Zone = localStorage.getItem(KEY) ?? "local";
const listeners = new Set<() => void>();

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function setZone(next: Zone): void {
  zone = next;
  localStorage.setItem(KEY, next);
  for (const listener of listeners) listener();
}

/** Returns the time zone of the page. The key `z` switches it. */
export function useZone(): Zone {
  return useSyncExternalStore(listen, () => zone);
}

let areSwapped = false;

/** Shows relative times where absolute ones were shown, and the other way round, until the page is reloaded. */
export function swapTimes(): void {
  areSwapped = !areSwapped;
  for (const listener of listeners) listener();
}

export function useSwappedTimes(): boolean {
  return useSyncExternalStore(listen, () => areSwapped);
}

const formats = new Map<string, Intl.DateTimeFormat>();
function format(inZone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${inZone}|${JSON.stringify(options)}`;
  let made = formats.get(key);
  if (made === undefined) {
    made = new Intl.DateTimeFormat("en-GB", { ...options, ...(inZone === "local" ? {} : { timeZone: inZone }) });
    formats.set(key, made);
  }
  return made;
}

const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;

/** Formats a time as `14:03:27.512`. With `withMs` false, the milliseconds are left out. */
export function clockTime(ms: number, inZone: Zone, withMs = true): string {
  return format(inZone, withMs ? { ...TIME, fractionalSecondDigits: 3 } : TIME).format(ms);
}

/** Formats `21 Nov 2026, 14:03:27`. */
export function dateTime(ms: number, inZone: Zone): string {
  return format(inZone, { day: "numeric", month: "short", year: "numeric", ...TIME }).format(ms);
}

/** Formats a duration: `455 µs`, `12.3 ms`, `1.24 s`, `2 min 5 s`, `3 h 12 min`, `4 d 2 h`. */
export function duration(ms: number): string {
  if (ms < 0.9995) return `${Math.round(ms * 1000)} µs`;
  if (ms < 9.995) return `${ms.toFixed(2)} ms`;
  if (ms < 99.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60 * 24) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Formats a relative time: `3 s ago`, `5 min ago`, `in 2 h`. */
export function relative(ms: number, nowMs: number): string {
  const away = nowMs - ms;
  const size = Math.abs(away);
  if (size < 1_000) return t`now`;
  const text =
    size < 60_000
      ? `${Math.floor(size / 1000)} s`
      : size < 3_600_000
        ? `${Math.floor(size / 60_000)} min`
        : size < 86_400_000
          ? `${Math.floor(size / 3_600_000)} h`
          : `${Math.floor(size / 86_400_000)} d`;
  return away >= 0 ? t`${text} ago` : t`in ${text}`;
}

/** Formats a size: `812 B`, `1.4 KiB`, `23 MiB`. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = count / 1024;
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
