import { ChevronRight } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { t } from "../labels/translate.ts";
import { noteRecent } from "../lib/recent-items.ts";
import { useLiveState } from "../lib/use-live.ts";
import { isWithoutEngine, Unreachable } from "./unreachable.tsx";

/** A page with its title, controls and content. The title is also the h1 element and the title of the window. */
export function Page({
  title,
  titleLink,
  subject,
  count,
  controls,
  needsEngine = true,
  children,
}: {
  readonly title: string;
  /** The title as a link to the list. It is given if an item is open. */
  readonly titleLink?: ReactNode;
  /** Name of the open item. It is used in the title of the window and in the list of recent items. */
  readonly subject?: string | undefined;
  readonly count?: number | undefined;
  readonly controls?: ReactNode;
  /** False if the page is useful before the engine has been reached. Default true. */
  readonly needsEngine?: boolean;
  readonly children: ReactNode;
}) {
  useEffect(() => {
    document.title = [title, subject, "svc"].filter((part) => part !== undefined).join(" · ");
    if (subject !== undefined) noteRecent({ href: location.pathname, page: title, subject });
  }, [title, subject]);
  const state = useLiveState();
  const isAway = needsEngine && isWithoutEngine(state);
  const isOpen = titleLink !== undefined && subject !== undefined;
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <header className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1.5 border-line border-b bg-surface px-4 py-1.5">
        {isOpen ? (
          <nav aria-label={t`Breadcrumb`} className="flex min-w-0 items-center gap-1.5">
            <h1 className="shrink-0 font-semibold text-[15px]">{titleLink}</h1>
            {count !== undefined && !isAway && <Count count={count} />}
            <ChevronRight aria-hidden className="size-3.5 shrink-0 text-ink-3" />
            <span aria-current="page" title={subject} className="min-w-0 max-w-64 truncate text-ink-2">
              {subject}
            </span>
          </nav>
        ) : (
          <>
            <h1 className="font-semibold text-[15px]">{title}</h1>
            {count !== undefined && !isAway && <Count count={count} />}
          </>
        )}
        {!isAway && controls}
      </header>
      {isAway ? <Unreachable /> : children}
    </div>
  );
}

function Count({ count }: { readonly count: number }) {
  return (
    <span className="rounded bg-raised px-1.5 font-mono text-[11px] text-ink-2" title={t`${count} in total`}>
      {count.toLocaleString("en-GB")}
    </span>
  );
}
