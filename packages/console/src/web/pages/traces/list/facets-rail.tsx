import { t } from "../../../labels/translate.ts";
import type { FacetsAnswer } from "../../../model/trace-types.ts";
import { cn } from "../../../ui/cn.ts";
import { ServiceSwatch } from "../../../ui/service-name.tsx";
import type { TraceSearch } from "../model/list-query.ts";

const FACETS = [
  { facet: "status", key: "status", title: t`Status` },
  { facet: "service", key: "service", title: t`Service` },
  { facet: "function_id", key: "fn", title: t`Function` },
  { facet: "trigger_type", key: "trigger", title: t`Trigger type` },
] as const;
const MAX_SHOWN = 12;
const WORDS: Readonly<Record<string, string>> = { ok: "OK", error: t`Error`, pending: t`Pending` };

const RAIL = "hidden w-56 shrink-0 overflow-y-auto border-line border-r bg-surface p-3 xl:block";

/**
 * Empty space with the width of the facets. It is shown until they are loaded, so that the list does not move under the
 * pointer.
 */
export function FacetsPlaceholder() {
  return <div aria-hidden className={RAIL} />;
}

/** Counts of the matching traces by value. A click on a value filters by it. A second click removes the filter. */
export function FacetsRail({
  facets,
  search,
  onChange,
}: {
  readonly facets: FacetsAnswer["facets"];
  readonly search: TraceSearch;
  readonly onChange: (change: Partial<TraceSearch>) => void;
}) {
  return (
    <aside aria-label={t`Facets`} className={RAIL}>
      <button
        type="button"
        aria-pressed={search.failed === true}
        title={t`Traces with a failed span, whatever the status of the root span`}
        onClick={() => onChange({ failed: search.failed === true ? undefined : true })}
        className={cn(
          "mb-3 flex min-h-6 w-full items-center rounded px-1.5 text-left hover:bg-hover",
          search.failed === true && "bg-accent-soft font-medium text-accent hover:bg-accent-soft",
        )}
      >
        {t`With errors`}
      </button>
      {FACETS.map(({ facet, key, title }) => {
        const selected = search[key];
        const values = facets[facet] ?? [];
        const shown = values.slice(0, MAX_SHOWN);
        // The selected value stays visible even if no trace has it. Otherwise the filter could not be removed here.
        const all =
          selected === undefined || shown.some(({ value }) => value === selected)
            ? shown
            : [{ value: selected, count: 0 }, ...shown];
        if (all.length === 0) return null;
        return (
          <section key={key} className="mb-4">
            <h2 className="mb-1 font-medium text-[12px] text-ink-3">{title}</h2>
            <ul>
              {all.map(({ value, count }) => (
                <li key={value}>
                  <button
                    type="button"
                    aria-pressed={selected === value}
                    onClick={() => onChange({ [key]: selected === value ? undefined : value })}
                    className={cn(
                      "flex min-h-6 w-full items-center gap-2 rounded px-1.5 text-left hover:bg-hover",
                      selected === value && "bg-accent-soft font-medium text-accent hover:bg-accent-soft",
                    )}
                  >
                    {facet === "service" && <ServiceSwatch service={value} />}
                    <span className="min-w-0 flex-1 truncate" title={value}>
                      {facet === "status" ? (WORDS[value] ?? value) : value}
                    </span>
                    <span className="font-mono text-[11px] text-ink-3">{count.toLocaleString("en-GB")}</span>
                  </button>
                </li>
              ))}
            </ul>
            {values.length > MAX_SHOWN && (
              <p className="px-1.5 text-[11px] text-ink-3">{t`and ${values.length - MAX_SHOWN} more`}</p>
            )}
          </section>
        );
      })}
    </aside>
  );
}
