import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { t } from "../../labels/translate.ts";
import { call } from "../../lib/api.ts";
import { cn } from "../../ui/cn.ts";
import { DataRegion } from "../../ui/data-region.tsx";
import { Timestamp } from "../../ui/time.tsx";
import type { Log } from "./log.ts";
import { LevelBadge, lineOf } from "./log-columns.tsx";

interface SurroundingAnswer {
  readonly logs: readonly Log[];
  readonly more_before: boolean;
  readonly more_after: boolean;
}

/** The 50 entries before an entry and the 50 entries after it. Filters are not applied. */
export function SurroundingEntries({ id }: { readonly id: string }) {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["logs", "around", id],
    queryFn: ({ signal }) => call<SurroundingAnswer>("engine::logs::around", { id, before: 50, after: 50 }, { signal }),
    retry: false,
  });
  const here = useRef<HTMLLIElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once the entries are there
  useEffect(() => {
    // In newer browsers, `scrollIntoView` returns a promise. An effect must not return a promise.
    void here.current?.scrollIntoView({ block: "center" });
  }, [data]);
  return (
    <DataRegion
      loading={isPending}
      error={error}
      retry={() => void refetch()}
      empty={data?.logs.length === 0}
      emptyState={<p className="p-4 text-ink-2">{t`Log entry not found; it may have been deleted or evicted.`}</p>}
    >
      <ol aria-label={t`Surrounding entries`} className="py-1">
        {data?.logs.map((log) => (
          <li key={log.id} ref={log.id === id ? here : undefined} aria-current={log.id === id || undefined}>
            <Link
              to="/logs/{-$logId}"
              params={{ logId: log.id }}
              search={true}
              className={cn("flex items-baseline gap-2 px-4 py-0.5 hover:bg-hover", log.id === id && "bg-accent-soft")}
            >
              <Timestamp ms={log.timestamp_ms} className="shrink-0 font-mono text-[12px] text-ink-2" />
              <span className="w-16 shrink-0">
                <LevelBadge log={log} />
              </span>
              <span className="min-w-0 flex-1 truncate font-mono text-[12px]">{lineOf(log.body).slice(0, 500)}</span>
            </Link>
          </li>
        ))}
      </ol>
    </DataRegion>
  );
}
