import { type ReactNode, useEffect } from "react";
import { noteRecent } from "../lib/recent.ts";

/** A page: its title in the browser and as the one h1, its controls, its content. */
export function Page({
  title,
  subject,
  count,
  controls,
  children,
}: {
  readonly title: string;
  /** What of the page is open, by its name: for the title of the window and the recent items. */
  readonly subject?: string | undefined;
  readonly count?: number | undefined;
  readonly controls?: ReactNode;
  readonly children: ReactNode;
}) {
  useEffect(() => {
    document.title = [title, subject, "svc"].filter((part) => part !== undefined).join(" · ");
    if (subject !== undefined) noteRecent({ href: location.pathname, page: title, subject });
  }, [title, subject]);
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <header className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1.5 border-line border-b bg-surface px-4 py-1.5">
        <h1 className="font-semibold text-[15px]">{title}</h1>
        {count !== undefined && (
          <span className="rounded bg-raised px-1.5 font-mono text-[11px] text-ink-2" title={`${count} in total`}>
            {count}
          </span>
        )}
        {controls}
      </header>
      {children}
    </div>
  );
}
