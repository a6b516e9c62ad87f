import { type FilterTerm, formatFilter, formatTerm, parseFilter } from "@svc-runtime/protocol/query";
import { Eye, EyeOff, X } from "lucide-react";
import { t } from "../../../labels/translate.ts";
import { termOfAttrParam } from "../../../lib/attr-param.ts";
import { duration } from "../../../lib/time.ts";
import { cn } from "../../../ui/cn.ts";
import type { TraceSearch } from "../model/list-query.ts";

const PARAMS = [
  { key: "status", word: "status" },
  { key: "service", word: "service" },
  { key: "fn", word: "function" },
  { key: "op", word: "name" },
  { key: "trigger", word: "trigger" },
] as const;

/**
 * The active filters, with buttons that remove them. Terms of the query can also be switched off without being removed.
 */
export function FilterChips({
  search,
  onChange,
}: {
  readonly search: TraceSearch;
  readonly onChange: (change: Partial<TraceSearch>) => void;
}) {
  const { terms } = parseFilter(search.q ?? "");
  const setTerms = (next: readonly FilterTerm[]): void => onChange({ q: formatFilter(next) || undefined });
  const attrs = search.attr ?? [];
  const params = PARAMS.flatMap(({ key, word }) =>
    search[key] === undefined ? [] : [{ key, text: `${word}:${search[key]}` }],
  );
  const bounds = [
    ...(search.min === undefined ? [] : [{ key: "min" as const, text: t`dur≥${duration(search.min)}` }]),
    ...(search.max === undefined ? [] : [{ key: "max" as const, text: t`dur≤${duration(search.max)}` }]),
  ];
  const flags = search.failed === true ? [{ key: "failed" as const, text: t`with errors` }] : [];
  // Plain words need no chips: the search box shows them.
  const typed = terms.some(({ kind, off }) => kind !== "text" || off) ? terms : [];
  if (params.length + flags.length + bounds.length + attrs.length + typed.length === 0) return null;
  return (
    <ul aria-label={t`Filters`} className="flex flex-wrap gap-1.5 border-line border-b bg-surface px-4 py-1.5">
      {[...params, ...flags, ...bounds].map(({ key, text }) => (
        <Chip key={key} text={text} onRemove={() => onChange({ [key]: undefined })} />
      ))}
      {attrs.map((param) => {
        const term = termOfAttrParam(param);
        return (
          <Chip
            key={param}
            text={term === undefined ? t`${param} (invalid)` : formatTerm(term)}
            onRemove={() => onChange({ attr: attrs.length === 1 ? undefined : attrs.filter((each) => each !== param) })}
          />
        );
      })}
      {typed.map((term, at) => (
        <Chip
          // biome-ignore lint/suspicious/noArrayIndexKey: the same term may be there twice
          key={at}
          text={formatTerm({ ...term, off: false })}
          isOff={term.off}
          onSwitch={() => setTerms(terms.map((each, index) => (index === at ? { ...each, off: !each.off } : each)))}
          onRemove={() => setTerms(terms.filter((_, index) => index !== at))}
        />
      ))}
    </ul>
  );
}

function Chip({
  text,
  isOff = false,
  onSwitch,
  onRemove,
}: {
  readonly text: string;
  readonly isOff?: boolean;
  readonly onSwitch?: () => void;
  readonly onRemove: () => void;
}) {
  return (
    <li
      className={cn(
        "inline-flex h-6 max-w-full items-center rounded border border-line bg-raised font-mono text-[11px]",
        isOff && "text-ink-3 line-through",
      )}
    >
      <span className="min-w-0 truncate px-1.5" title={text}>
        {text}
      </span>
      {onSwitch !== undefined && (
        <button
          type="button"
          aria-pressed={!isOff}
          aria-label={isOff ? t`Enable ${text}` : t`Disable ${text}`}
          className="flex size-6 items-center justify-center hover:bg-hover"
          onClick={onSwitch}
        >
          {isOff ? <EyeOff aria-hidden className="size-3" /> : <Eye aria-hidden className="size-3" />}
        </button>
      )}
      <button
        type="button"
        aria-label={t`Remove ${text}`}
        className="flex size-6 items-center justify-center hover:bg-hover"
        onClick={onRemove}
      >
        <X aria-hidden className="size-3" />
      </button>
    </li>
  );
}
