import { type ReactNode, useSyncExternalStore } from "react";
import { clockTime, dateTime, duration, relative, useSwappedTimes, useZone } from "../lib/time.ts";

const DAY_MS = 86_400_000;

// One timer serves all relative times on the page. It runs while at least one is shown.
const tickers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let nowMs = Date.now();
function onTick(listener: () => void): () => void {
  tickers.add(listener);
  timer ??= setInterval(() => {
    nowMs = Date.now();
    for (const tick of tickers) tick();
  }, 1_000);
  return () => {
    tickers.delete(listener);
    if (tickers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** Returns the current time of the page's clock, which is updated once per second. */
export function useNow(): number {
  return useSyncExternalStore(onTick, () => nowMs);
}

/**
 * Shows a time in the page's zone. Its title is the time in ISO form. With `as` `clock`, it shows 14:03:27.512; with
 * `date`, also the day. While the user has swapped times (key for relative and absolute times), it shows a relative
 * time.
 */
export function Timestamp({
  ms,
  as = "clock",
  withMs = true,
  className,
}: {
  readonly ms: number;
  readonly as?: "clock" | "date";
  readonly withMs?: boolean;
  readonly className?: string;
}) {
  const zone = useZone();
  return (
    <Time ms={ms} className={className}>
      {useSwappedTimes() ? <Relative ms={ms} /> : as === "clock" ? clockTime(ms, zone, withMs) : dateTime(ms, zone)}
    </Time>
  );
}

/** Shows a relative time, for example `3 s ago`. While the user has swapped times, it shows an absolute time. */
export function Ago({ ms, className }: { readonly ms: number; readonly className?: string }) {
  const zone = useZone();
  return (
    <Time ms={ms} className={className}>
      {!useSwappedTimes() ? (
        <Relative ms={ms} />
      ) : Math.abs(Date.now() - ms) < DAY_MS ? (
        clockTime(ms, zone, false)
      ) : (
        dateTime(ms, zone)
      )}
    </Time>
  );
}

function Time({
  ms,
  className,
  children,
}: {
  readonly ms: number;
  readonly className: string | undefined;
  readonly children: ReactNode;
}) {
  const iso = isoOf(ms);
  return (
    <time dateTime={iso} title={iso} className={className}>
      {children}
    </time>
  );
}

function Relative({ ms }: { readonly ms: number }) {
  return relative(ms, Math.max(useNow(), Date.now() - 1_000));
}

export function Duration({ ms, className }: { readonly ms: number; readonly className?: string }) {
  return (
    <span title={`${ms} ms`} className={className}>
      {duration(ms)}
    </span>
  );
}

function isoOf(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}
