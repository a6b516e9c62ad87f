import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** How often the calls are looked at, in milliseconds, and how many of them between two looks keep an engine busy: a thousand a second. */
const LOOK_MS = 250;
const BUSY_CALLS = 250;
/** Busy for so many looks in a row: one burst is not worth the memory. */
const BUSY_LOOKS = 2;
/** The young heap of a busy engine, in bytes: both halves of it. */
const ENOUGH_BYTES = 8 * 1024 * 1024;

/**
 * Keeps the part of the heap for new objects at the size that it has now. By default it doubles, up to three times 16 MB, when many objects survive at once,
 * which starting up and ten thousand workers that connect do, and it never shrinks again: that memory would count for most of what an idle connection costs,
 * and for 4 MB of an idle engine.
 */
export function keepYoungHeapSmall(): void {
  mayGrow(false);
}

/**
 * Lets it grow to `ENOUGH_BYTES` once an engine routes many calls: at the smallest size the collector runs some five hundred times a second then, which is a
 * tenth of what a call costs, and more gains nothing (bench row 2). `calls`: how many there were since the start. Returns the undo.
 */
export function growYoungHeapWhenBusy(calls: () => number): () => void {
  let before = calls();
  let busyLooks = 0;
  const timer = setInterval(() => {
    const now = calls();
    busyLooks = now - before >= BUSY_CALLS ? busyLooks + 1 : 0;
    before = now;
    const isLarge = busyLooks >= BUSY_LOOKS && youngHeapBytes() >= ENOUGH_BYTES;
    mayGrow(busyLooks >= BUSY_LOOKS && !isLarge);
    if (isLarge) clearInterval(timer);
  }, LOOK_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    mayGrow(false);
  };
}

/** Committed for new objects. */
export function youngHeapBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0;
}

/** V8 looks at the factor each time that it could grow. */
function mayGrow(may: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${may ? 2 : 1}`);
}
