/** The visible range of the trace, in milliseconds since its start. */
export interface ViewWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Minimum length of the range: one microsecond. */
const SHORTEST_MS = 0.001;

/** Zooms around the middle of the range. A factor below 1 zooms in. */
export function zoomed(view: ViewWindow, factor: number, lengthMs: number): ViewWindow {
  const middle = (view.fromMs + view.toMs) / 2;
  const half = ((view.toMs - view.fromMs) * factor) / 2;
  return clamped({ fromMs: middle - half, toMs: middle + half }, lengthMs);
}

/** Moves the range. `share` is a share of the range's length. */
export function moved(view: ViewWindow, share: number, lengthMs: number): ViewWindow {
  const size = view.toMs - view.fromMs;
  const fromMs = Math.min(Math.max(0, view.fromMs + size * share), Math.max(0, lengthMs - size));
  return { fromMs, toMs: fromMs + size };
}

export function clamped({ fromMs, toMs }: ViewWindow, lengthMs: number): ViewWindow {
  const from = Math.max(0, Math.min(fromMs, toMs));
  const to = Math.min(lengthMs, Math.max(fromMs, toMs));
  if (to - from >= SHORTEST_MS) return { fromMs: from, toMs: to };
  return {
    fromMs: Math.max(0, Math.min(from, lengthMs - SHORTEST_MS)),
    toMs: Math.max(from + SHORTEST_MS, SHORTEST_MS),
  };
}

/** Returns the position of a time in the range, from 0 to 1. It is below 0 or above 1 for times outside the range. */
export function shareOf(ms: number, { fromMs, toMs }: ViewWindow): number {
  return (ms - fromMs) / Math.max(SHORTEST_MS, toMs - fromMs);
}

/** Returns about `count` round times, for the ticks of a ruler. */
export function ticksOf({ fromMs, toMs }: ViewWindow, count: number): readonly number[] {
  const raw = (toMs - fromMs) / Math.max(1, count);
  if (!(raw > 0)) return [fromMs];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const ticks: number[] = [];
  for (let at = Math.ceil(fromMs / step); at * step <= toMs && ticks.length < 100; at += 1) ticks.push(at * step);
  return ticks;
}

/** Width of one character of a label, in pixels. */
const CHARACTER_PX = 6.7;
/** Padding of a label, in pixels. */
const PADDING_PX = 5;
/** Gap between two labels, in pixels. */
const GAP_PX = 6;

export interface Tick {
  readonly ms: number;
  readonly text: string;
  /**
   * Side of the tick on which its label fits without overlapping another label. Undefined if it fits on neither side.
   */
  readonly side: "left" | "right" | undefined;
}

/** Returns ticks, each with the side of its label. `widthPx` is the width of the ruler. */
export function labelledTicks(
  ticks: readonly number[],
  view: ViewWindow,
  widthPx: number,
  textOf: (ms: number) => string,
): readonly Tick[] {
  let freeFrom = 0;
  return ticks.map((ms) => {
    const text = textOf(ms);
    const at = shareOf(ms, view) * widthPx;
    const length = text.length * CHARACTER_PX + PADDING_PX;
    const side =
      at >= freeFrom && at + length <= widthPx
        ? "right"
        : at - length >= freeFrom && at <= widthPx
          ? "left"
          : undefined;
    if (side !== undefined) freeFrom = (side === "right" ? at + length : at) + GAP_PX;
    return { ms, text, side };
  });
}
