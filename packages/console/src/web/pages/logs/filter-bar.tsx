import { type FilterTerm, formatFilter, formatTerm, LOG_FIELDS, parseFilter } from "@svc-runtime/protocol/query";
import { CircleHelp, Eye, EyeOff, X } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { type KnownValues, useCompletion } from "../../lib/use-completion.ts";
import { Button } from "../../ui/button.tsx";
import { cn } from "../../ui/cn.ts";
import { SearchBox } from "../../ui/search-box.tsx";
import { Timestamp } from "../../ui/time.tsx";
import { chipTerms, isSameTerm, type LogSearch, searchOfChips } from "./filter-terms.ts";

const FilterHelp = lazy(() => import("./filter-help.tsx"));

/** Facets, by the field whose values they have. */
const FACETS = { level: "level", service: "service", function: "function_id", worker: "worker" };
const SOURCES = ["logs"] as const;

/** The search box, which accepts filter syntax, and the active filters as chips. */
export function FilterBar({
  search,
  change,
  problems,
  facets,
}: {
  readonly search: LogSearch;
  readonly change: (change: Partial<LogSearch>) => void;
  readonly problems: readonly string[];
  /** Values in the shown entries, by facet name. */
  readonly facets: KnownValues | undefined;
}) {
  const complete = useCompletion({ fields: LOG_FIELDS, facets, names: FACETS, sources: SOURCES });
  const [isHelpOpen, setHelpOpen] = useState(false);
  const chips = chipTerms(search);
  const set = (terms: readonly FilterTerm[]): void => change(searchOfChips(terms).search);
  /** Converts filters in the search box to chips. Words stay in the search box. */
  const applyFilters = (text: string): void => {
    const { terms, problems: syntaxErrors } = parseFilter(text);
    if (syntaxErrors.length > 0) return;
    const { search: next, rest } = searchOfChips([...chips, ...terms]);
    change({ ...next, q: formatFilter(rest) || undefined });
  };
  return (
    <div className="flex flex-col gap-1.5 border-line border-b px-4 py-1.5">
      <form
        className="flex items-center gap-1.5"
        onSubmit={(event) => {
          event.preventDefault();
          const box = event.currentTarget.querySelector("input");
          if (box !== null) applyFilters(box.value);
        }}
      >
        <SearchBox
          label={t`Search logs, or filter: error and source:api`}
          complete={complete}
          value={search.q ?? ""}
          onChange={(q) => change({ q: q || undefined })}
          className="flex-1"
        />
        <Button
          look="ghost"
          aria-label={t`Filter syntax`}
          aria-expanded={isHelpOpen}
          onClick={() => setHelpOpen(!isHelpOpen)}
          icon={<CircleHelp aria-hidden className="size-4" />}
        />
      </form>
      {isHelpOpen && (
        <Suspense>
          <FilterHelp />
        </Suspense>
      )}
      {problems.map((problem) => (
        <p key={problem} role="alert" className="text-danger">
          {problem}
        </p>
      ))}
      {(chips.length > 0 || search.from !== undefined || search.to !== undefined) && (
        <ul aria-label={t`Filters`} className="flex flex-wrap gap-1.5">
          {chips.map((chip) => (
            <Chip
              key={formatTerm(chip)}
              term={chip}
              onToggle={() => set(chips.map((each) => (isSameTerm(each, chip) ? { ...each, off: !chip.off } : each)))}
              onRemove={() => set(chips.filter((each) => !isSameTerm(each, chip)))}
            />
          ))}
          {(search.from !== undefined || search.to !== undefined) && (
            <li className="inline-flex h-6 items-center gap-1 rounded-full border border-line bg-surface pl-2 text-[12px]">
              {search.from !== undefined && <>{rich`from ${<Timestamp ms={search.from} as="date" />}`}</>}
              {search.to !== undefined && <>{rich`to ${<Timestamp ms={search.to} as="date" />}`}</>}
              <RemoveButton
                label={t`Remove the time filter`}
                onClick={() => change({ from: undefined, to: undefined })}
              />
            </li>
          )}
          <li>
            <Button
              look="ghost"
              className="h-6"
              onClick={() => change({ ...searchOfChips([]).search, q: undefined, from: undefined, to: undefined })}
            >
              {t`Clear all`}
            </Button>
          </li>
        </ul>
      )}
    </div>
  );
}

function Chip({
  term,
  onToggle,
  onRemove,
}: {
  readonly term: FilterTerm;
  readonly onToggle: () => void;
  readonly onRemove: () => void;
}) {
  const text = formatTerm({ ...term, off: false });
  const Icon = term.off ? EyeOff : Eye;
  return (
    <li
      className={cn(
        "inline-flex h-6 max-w-full items-center rounded-full border text-[12px]",
        term.off ? "border-line border-dashed text-ink-3" : "border-accent/40 bg-accent-soft text-accent",
      )}
    >
      <button
        type="button"
        aria-pressed={!term.off}
        title={term.off ? t`Disabled; click to enable` : t`Click to disable`}
        onClick={onToggle}
        className="inline-flex h-6 min-w-0 items-center gap-1 rounded-l-full pl-2"
      >
        <Icon aria-hidden className="size-3 shrink-0" />
        <code className={cn("truncate", term.off && "line-through")}>{text}</code>
      </button>
      <RemoveButton label={t`Remove ${text}`} onClick={onRemove} />
    </li>
  );
}

function RemoveButton({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <button
      type="button"
      aria-label={label}
      onClick={onClick}
      className="flex size-6 shrink-0 items-center justify-center rounded-full hover:bg-hover"
    >
      <X aria-hidden className="size-3" />
    </button>
  );
}
