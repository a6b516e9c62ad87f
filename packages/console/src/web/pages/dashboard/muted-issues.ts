const KEY = "svc.muted";
export const MUTE_MS = 3_600_000;

/** Returns the keys of muted issues, each with the time at which it is shown again. They are stored in this browser. */
export function mutedNow(nowMs: number): Readonly<Record<string, number>> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    if (typeof stored !== "object" || stored === null) return {};
    return Object.fromEntries(Object.entries(stored).filter(([, until]) => typeof until === "number" && until > nowMs));
  } catch {
    return {};
  }
}

export function setMuted(key: string, untilMs: number | undefined, nowMs: number): void {
  const { [key]: _, ...others } = mutedNow(nowMs);
  localStorage.setItem(KEY, JSON.stringify(untilMs === undefined ? others : { ...others, [key]: untilMs }));
}
