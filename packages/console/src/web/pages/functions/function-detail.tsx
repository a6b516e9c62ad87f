import { Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import type { SearchOf } from "../../app/search.ts";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import type { FunctionItem } from "../../model/functions.ts";
import { EmptyState, SkeletonRows } from "../../ui/data-region.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { OverviewTab } from "./overview-tab.tsx";
import type { StatsByFunction } from "./use-function-stats.ts";

// These tabs are loaded on demand, because they are most of the page's code and the list does not need them.
const InvokeTab = lazy(() => import("./invoke/invoke-tab.tsx"));
const SchemaTab = lazy(() => import("./schema-tab.tsx"));
const HistoryTab = lazy(() => import("./history/history-tab.tsx"));

const TABS = ["overview", "invoke", "schema", "history", "logs"];

/**
 * Details of the selected function. If a function is no longer registered, its history and the input that the user
 * typed stay available.
 */
export function FunctionDetail({
  functionId,
  item,
  isKnown,
  stats,
  search,
  onSearch,
}: {
  readonly functionId: string;
  readonly item: FunctionItem | undefined;
  /** True if the list is loaded. A function that is not in the list is then not registered. */
  readonly isKnown: boolean;
  readonly stats: StatsByFunction;
  readonly search: SearchOf<"functions">;
  readonly onSearch: (change: Partial<SearchOf<"functions">>) => void;
}) {
  if (!isKnown) return <Loading />;
  const notRegistered = (
    <EmptyState title={t`No live worker provides this function`}>
      <p>
        {rich`${<code className="break-all">{functionId}</code>} is not registered. It appears when a worker registers it.`}
      </p>
    </EmptyState>
  );
  const tab =
    search.tab !== undefined && TABS.includes(search.tab)
      ? search.tab
      : search.inv === undefined
        ? "overview"
        : "history";
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Tabs
        label={t`Function details`}
        value={tab}
        onChange={(next) =>
          onSearch({ tab: next === "overview" ? undefined : next, ...(next === "history" ? {} : { inv: undefined }) })
        }
        tabs={[
          {
            value: "overview",
            label: t`Overview`,
            content: item === undefined ? notRegistered : <OverviewTab item={item} stats={stats} />,
          },
          {
            value: "invoke",
            label: t`Invoke`,
            content: (
              <Suspense fallback={<Loading />}>
                <InvokeTab
                  key={functionId}
                  functionId={functionId}
                  schema={item?.request_format}
                  isThere={item !== undefined}
                  replayId={tab === "invoke" ? search.inv : undefined}
                  onReplayLoaded={() => onSearch({ inv: undefined })}
                />
              </Suspense>
            ),
          },
          {
            value: "schema",
            label: t`Schema`,
            content: item === undefined ? notRegistered : <SchemaTab item={item} />,
          },
          {
            value: "history",
            label: t`History`,
            content: (
              <Suspense fallback={<Loading />}>
                <HistoryTab key={functionId} functionId={functionId} search={search} onSearch={onSearch} />
              </Suspense>
            ),
          },
          { value: "logs", label: t`Logs & traces`, content: <RelatedPages functionId={functionId} /> },
        ]}
      />
    </div>
  );
}

function Loading(): ReactNode {
  return (
    <div role="status" aria-label={t`Loading`} className="p-4">
      <SkeletonRows rows={6} />
    </div>
  );
}

function RelatedPages({ functionId }: { readonly functionId: string }) {
  return (
    <ul className="flex flex-col gap-3 p-4">
      <li>
        <Link
          to="/logs/{-$logId}"
          params={{ logId: undefined }}
          search={{ fn: functionId }}
          className="text-accent underline"
        >
          {t`Logs of this function`}
        </Link>
      </li>
      <li>
        <Link
          to="/traces/{-$traceId}/{-$spanId}"
          params={{ traceId: undefined, spanId: undefined }}
          search={{ fn: functionId }}
          className="text-accent underline"
        >
          {t`Traces that call this function`}
        </Link>
      </li>
      <li>
        <Link
          to="/traces/{-$traceId}/{-$spanId}"
          params={{ traceId: undefined, spanId: undefined }}
          search={{ fn: functionId, failed: true }}
          className="text-accent underline"
        >
          {t`Failed traces that call this function`}
        </Link>
      </li>
    </ul>
  );
}
