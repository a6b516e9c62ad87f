/** The part of the trace that is looked at, in milliseconds of its axis. */
export interface ViewWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Nothing shorter can be zoomed to: a microsecond. */
const SHORTEST_MS = 0.001;

/** Around the middle; a factor under 1 shows less. */
export function zoomed(view: ViewWindow, factor: number, lengthMs: number): ViewWindow {
  const middle = (view.fromMs + view.toMs) / 2;
  const half = ((view.toMs - view.fromMs) * factor) / 2;
  return clamped({ fromMs: middle - half, toMs: middle + half }, lengthMs);
}

/** By a part of what is seen. */
export function moved(view: ViewWindow, share: number, lengthMs: number): ViewWindow {
  const size = view.toMs - view.fromMs;
  const fromMs = Math.min(Math.max(0, view.fromMs + size * share), Math.max(0, lengthMs - size));
  return { fromMs, toMs: fromMs + size };
}

export function clamped({ fromMs, toMs }: ViewWindow, lengthMs: number): ViewWindow {
  const from = Math.max(0, Math.min(fromMs, toMs));
  const to = Math.min(lengthMs, Math.max(fromMs, toMs));
  if (to - from >= SHORTEST_MS) return { fromMs: from, toMs: to };
  return { fromMs: Math.max(0, Math.min(from, lengthMs - SHORTEST_MS)), toMs: Math.max(from + SHORTEST_MS, SHORTEST_MS) };
}

/** Where a moment is in the window, 0 to 1; beyond for what lies outside. */
export function shareOf(ms: number, { fromMs, toMs }: ViewWindow): number {
  return (ms - fromMs) / Math.max(SHORTEST_MS, toMs - fromMs);
}

/** The moments of a ruler: round steps, about `count` of them. */
export function ticksOf({ fromMs, toMs }: ViewWindow, count: number): readonly number[] {
  const raw = (toMs - fromMs) / Math.max(1, count);
  if (!(raw > 0)) return [fromMs];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const ticks: number[] = [];
  for (let at = Math.ceil(fromMs / step); at * step <= toMs && ticks.length < 100; at += 1) ticks.push(at * step);
  return ticks;
}
