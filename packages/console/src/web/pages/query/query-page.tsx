import { getRouteApi, Link, useRouter } from "@tanstack/react-router";
import { RotateCw } from "lucide-react";
import { Suspense, useMemo, useState } from "react";
import { t } from "../../labels/translate.ts";
import { lazyExtra } from "../../lib/lazy-extra.ts";
import { useCompletion } from "../../lib/use-completion.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/data-region.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { hrefOf, RESULT_COLUMNS } from "./result-columns.tsx";
import {
  ALL_FIELDS,
  FALLBACK_RANGE,
  type ResultRow,
  SECTION_NAMES,
  type Section,
  useQueryResults,
} from "./use-query-results.ts";

const ImportButton = lazyExtra(() => import("../../app/import-button.tsx"));
const route = getRouteApi("/query");

const SOURCES = ["traces", "logs", "state"] as const;
const NO_NAMES = {};

const EXAMPLES = [
  ["error and duration>100ms", t`slow traces with a failed span`],
  ["level>=warn and message~timeout", t`log entries of level warn and above about timeouts`],
  ["function:orders::*", t`traces and log entries of functions`],
  ["value.status:failed and updated<1h", t`state items by a member of the value`],
] as const;

/** A row of the table: the heading of a section, or a result. */
type Row = ResultRow | { readonly kind: "heading"; readonly id: string; readonly section: Section };

/** Runs one query over traces, logs and state. The query and the time range are in the address. */
export default function QueryPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const router = useRouter();
  const [selectedId, setSelectedId] = useState<string>();
  const { sections, isSearching, retry } = useQueryResults(search);
  const complete = useCompletion({ fields: ALL_FIELDS, facets: undefined, names: NO_NAMES, sources: SOURCES });
  const rows = useMemo(
    () =>
      sections.flatMap((section): readonly Row[] => [
        { kind: "heading", id: `heading ${section.name}`, section },
        ...section.rows,
      ]),
    [sections],
  );
  const run = (q: string): void => void navigate({ search: (before) => ({ ...before, q: q || undefined }) });
  return (
    <Page
      title={t`Query`}
      subject={search.q}
      controls={
        <>
          <SearchBox
            label={t`Query traces, logs and state`}
            complete={complete}
            value={search.q ?? ""}
            onChange={(q) => void navigate({ search: (before) => ({ ...before, q: q || undefined }), replace: true })}
            className="min-w-48 flex-1"
          />
          <TimeRange
            value={search}
            fallback={FALLBACK_RANGE}
            onChange={(range) => void navigate({ search: (before) => ({ ...before, ...range }) })}
          />
          <Suspense>
            <ImportButton />
          </Suspense>
          <Button
            icon={<RotateCw aria-hidden className="size-3.5" />}
            disabled={(search.q ?? "") === ""}
            onClick={retry}
            title={t`Run the query again`}
          >
            <span className="max-sm:sr-only">{t`Run`}</span>
          </Button>
        </>
      }
    >
      {(search.q ?? "").trim() === "" ? (
        <EmptyState title={t`Query traces, logs and state`}>
          <p className="mb-3">{t`One query searches all three. The link to this page contains it.`}</p>
          <ul className="flex flex-col items-start gap-1.5 text-left">
            {EXAMPLES.map(([text, meaning]) => (
              <li key={text}>
                <Button onClick={() => run(text)}>
                  <code>{text}</code>
                </Button>{" "}
                <span>{meaning}</span>
              </li>
            ))}
          </ul>
        </EmptyState>
      ) : (
        <>
          <DataTable
            label={t`Results`}
            columns={RESULT_COLUMNS as Parameters<typeof DataTable<Row>>[0]["columns"]}
            rows={rows}
            idOf={({ id }) => id}
            selectedId={selectedId}
            onSelect={({ id }) => setSelectedId(id)}
            onOpen={(row) => row.kind !== "heading" && router.history.push(hrefOf(row))}
            headingOf={(row) =>
              row.kind === "heading" ? (
                <Heading section={row.section} query={search.q ?? ""} search={search} />
              ) : undefined
            }
          />
          <p role="status" className="border-line border-t px-4 py-1 text-[12px] text-ink-3">
            {isSearching ? t`Searching…` : statusOf(sections)}
          </p>
        </>
      )}
    </Page>
  );
}

function statusOf(sections: readonly Section[]): string {
  return sections
    .map(({ name, countText, problem }) => `${SECTION_NAMES[name]}: ${problem ?? countText ?? "0"}`)
    .join(" · ");
}

/** Name, count and problem of a section, with a link to the page that shows all results. */
function Heading({
  section: { name, countText, problem },
  query,
  search: { from, to, range },
}: {
  readonly section: Section;
  readonly query: string;
  readonly search: {
    readonly from?: number | undefined;
    readonly to?: number | undefined;
    readonly range?: string | undefined;
  };
}) {
  const window = { from, to, range };
  const className = "ml-auto shrink-0 text-accent hover:underline";
  return (
    <span className="flex min-w-0 flex-1 items-center gap-2 whitespace-nowrap">
      <span className="font-medium">{SECTION_NAMES[name]}</span>
      {countText !== undefined && <span className="font-mono text-[11px] text-ink-2">{countText}</span>}
      {problem !== undefined && (
        <span className="min-w-0 truncate text-ink-2" title={problem}>
          {problem}
        </span>
      )}
      {problem === undefined && name === "traces" && (
        <Link
          to="/traces/{-$traceId}/{-$spanId}"
          params={{ traceId: undefined, spanId: undefined }}
          search={{ q: query, ...window }}
          className={className}
        >
          {t`Open in Traces`}
        </Link>
      )}
      {problem === undefined && name === "logs" && (
        <Link to="/logs/{-$logId}" params={{ logId: undefined }} search={{ q: query, ...window }} className={className}>
          {t`Open in Logs`}
        </Link>
      )}
      {problem === undefined && name === "state" && (
        <Link
          to="/states/{-$group}/{-$key}"
          params={{ group: undefined, key: undefined }}
          search={{ query }}
          className={className}
        >
          {t`Open in States`}
        </Link>
      )}
    </span>
  );
}
