/** Something that was looked at: its address and what it is called. */
export interface RecentItem {
  readonly href: string;
  readonly page: string;
  readonly subject: string;
}

const KEY = "svc.recent";
const MOST = 12;

/** The latest first; kept in this browser. */
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
  // Only addresses of this page: whatever else is in the browser's storage is not followed.
  return typeof item?.href === "string" && /^\/(?!\/)/.test(item.href) && typeof item.page === "string" && typeof item.subject === "string";
}

export function withRecent(items: readonly RecentItem[], item: RecentItem): readonly RecentItem[] {
  return [item, ...items.filter(({ href }) => href !== item.href)].slice(0, MOST);
}

export function noteRecent(item: RecentItem): void {
  localStorage.setItem(KEY, JSON.stringify(withRecent(recentItems(), item)));
}
