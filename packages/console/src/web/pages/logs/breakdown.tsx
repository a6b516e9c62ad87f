import { EyeOff } from "lucide-react";
import { t } from "../../labels/translate.ts";
import { cn } from "../../ui/cn.ts";
import type { LogSearch } from "./filter-terms.ts";
import type { FacetCount, FacetName } from "./use-logs.ts";

const MAX_SHOWN = 15;

/**
 * Counts of all matching entries by source, level, worker and function. A click on a value filters by it. Shift-click
 * or the eye button excludes it.
 */
export default function Breakdown({
  facets,
  search,
  change,
}: {
  readonly facets: Readonly<Partial<Record<FacetName, readonly FacetCount[]>>>;
  readonly search: LogSearch;
  readonly change: (change: Partial<LogSearch>) => void;
}) {
  const toggle = (list: readonly string[] | undefined, value: string): string[] | undefined => {
    const next = list?.includes(value) === true ? list.filter((each) => each !== value) : [...(list ?? []), value];
    return next.length === 0 ? undefined : next;
  };
  const without = (list: readonly string[] | undefined, value: string): string[] | undefined =>
    list?.includes(value) === true ? toggle(list, value) : list?.slice();
  const excludes = (key: string, value: string): string => `${key}:not_equals:${value}`;
  return (
    <div className="flex flex-col gap-4 p-3">
      <Facet
        title={t`Source`}
        counts={facets.service ?? []}
        selected={search.source ?? []}
        excluded={search.not ?? []}
        onSelect={(value) => change({ source: toggle(search.source, value), not: without(search.not, value) })}
        onExclude={(value) => change({ not: toggle(search.not, value), source: without(search.source, value) })}
      />
      <Facet
        title={t`Level`}
        counts={facets.level ?? []}
        selected={search.level ?? []}
        excluded={(search.attr ?? [])
          .filter((param) => param.startsWith("level:not_equals:"))
          .map((param) => param.slice("level:not_equals:".length))}
        onSelect={(value) => change({ level: toggle(search.level, value) })}
      />
      {/* Most workers log under their own name. In this case the list of workers is not shown, because it would
          repeat the list of sources. */}
      {(search.worker !== undefined || JSON.stringify(facets.worker) !== JSON.stringify(facets.service)) && (
        <Facet
          title={t`Worker`}
          counts={facets.worker ?? []}
          selected={search.worker === undefined ? [] : [search.worker]}
          excluded={[]}
          onSelect={(value) => change({ worker: search.worker === value ? undefined : value })}
        />
      )}
      <Facet
        title={t`Function`}
        counts={facets.function_id ?? []}
        selected={search.fn === undefined ? [] : [search.fn]}
        excluded={(search.attr ?? [])
          .filter((param) => param.startsWith("function_id:not_equals:"))
          .map((param) => param.slice("function_id:not_equals:".length))}
        onSelect={(value) => change({ fn: search.fn === value ? undefined : value })}
        onExclude={(value) => change({ attr: toggle(search.attr, excludes("function_id", value)) })}
      />
    </div>
  );
}

function Facet({
  title,
  counts,
  selected,
  excluded,
  onSelect,
  onExclude,
}: {
  readonly title: string;
  readonly counts: readonly FacetCount[];
  readonly selected: readonly string[];
  readonly excluded: readonly string[];
  readonly onSelect: (value: string) => void;
  readonly onExclude?: (value: string) => void;
}) {
  const known = new Set(counts.map(({ value }) => value));
  // Values that are selected or excluded stay on the list, even if no entry has them.
  const unmatched = [...selected, ...excluded]
    .filter((value) => !known.has(value))
    .map((value) => ({ value, count: 0 }));
  const shown = [...counts.slice(0, MAX_SHOWN), ...unmatched];
  const max = Math.max(1, ...shown.map(({ count }) => count));
  if (shown.length === 0) return null;
  return (
    <section aria-label={t`By ${title.toLowerCase()}`}>
      <h3 className="pb-1 font-medium text-[12px] text-ink-3">{title}</h3>
      <ul className="flex flex-col">
        {shown.map(({ value, count }) => (
          <li key={value} className="group flex items-center">
            <button
              type="button"
              aria-pressed={selected.includes(value)}
              title={onExclude === undefined ? value : t`${value}: click to filter by it, Shift-click to exclude it`}
              onClick={(event) => (event.shiftKey && onExclude !== undefined ? onExclude(value) : onSelect(value))}
              className={cn(
                "relative flex h-6 min-w-0 flex-1 items-center gap-2 overflow-hidden rounded px-1.5 text-left hover:bg-hover",
                selected.includes(value) && "bg-accent-soft font-medium text-accent",
              )}
            >
              <span className={cn("min-w-0 flex-1 truncate", excluded.includes(value) && "text-ink-3 line-through")}>
                {value}
              </span>
              <span className="font-mono text-[11px]">{count.toLocaleString("en-GB")}</span>
              <span
                aria-hidden
                className="absolute bottom-0 left-0 h-0.5 bg-accent/60"
                style={{ width: `${(count / max) * 100}%` }}
              />
            </button>
            {onExclude === undefined ? (
              <span className="w-6 shrink-0" />
            ) : (
              <button
                type="button"
                aria-label={t`Exclude ${value}`}
                aria-pressed={excluded.includes(value)}
                onClick={() => onExclude(value)}
                className={cn(
                  "[@media(hover:hover)]:not-aria-pressed:opacity-0 flex size-6 shrink-0 focus-visible:opacity-100 group-hover:opacity-100 items-center justify-center rounded text-ink-3 hover:bg-hover hover:text-ink",
                  excluded.includes(value) && "text-danger",
                )}
              >
                <EyeOff aria-hidden className="size-3.5" />
              </button>
            )}
          </li>
        ))}
      </ul>
      {counts.length > MAX_SHOWN && (
        <p className="px-1.5 pt-1 text-[11px] text-ink-3">{t`and ${counts.length - MAX_SHOWN} more`}</p>
      )}
    </section>
  );
}
