const KEY = "svc.muted";
export const MUTE_MS = 3_600_000;

/** What was muted, until when; kept in this browser, what has run out left out. */
export function mutedNow(nowMs: number): Readonly<Record<string, number>> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    if (typeof kept !== "object" || kept === null) return {};
    return Object.fromEntries(Object.entries(kept).filter(([, until]) => typeof until === "number" && until > nowMs));
  } catch {
    return {};
  }
}

export function setMuted(key: string, untilMs: number | undefined, nowMs: number): void {
  const { [key]: _, ...others } = mutedNow(nowMs);
  localStorage.setItem(KEY, JSON.stringify(untilMs === undefined ? others : { ...others, [key]: untilMs }));
}
