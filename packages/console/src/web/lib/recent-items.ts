/** A visited item with its address and name. */
export interface RecentItem {
  readonly href: string;
  readonly page: string;
  readonly subject: string;
}

const KEY = "svc.recent";
const MOST = 12;

/** Returns the recent items stored in this browser, the latest first. */
export function recentItems(): readonly RecentItem[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isRecentItem) : [];
  } catch {
    return [];
  }
}

function isRecentItem(value: unknown): value is RecentItem {
  const item = value as Partial<RecentItem> | null;
  // Only addresses of this console are accepted, because other code may have written to the browser's storage.
  return (
    typeof item?.href === "string" &&
    /^\/(?!\/)/.test(item.href) &&
    typeof item.page === "string" &&
    typeof item.subject === "string"
  );
}

export function withRecent(items: readonly RecentItem[], item: RecentItem): readonly RecentItem[] {
  return [item, ...items.filter(({ href }) => href !== item.href)].slice(0, MOST);
}

export function noteRecent(item: RecentItem): void {
  localStorage.setItem(KEY, JSON.stringify(withRecent(recentItems(), item)));
}
