import { getRouteApi, Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useMemo } from "react";
import type { SearchOf } from "../../app/search.ts";
import { usePlace } from "../../app/use-place.ts";
import { t } from "../../labels/translate.ts";
import { countChanges } from "../../lib/count-changes.ts";
import { isOwn } from "../../lib/own-functions.ts";
import { useFunctions } from "../../lib/use-functions.ts";
import { useAreModulesKnown, useModules } from "../../lib/use-modules.ts";
import { typescriptWorker } from "../../model/example-commands.ts";
import type { FunctionItem } from "../../model/functions.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { ListDetail, useIsNarrow } from "../../ui/list-detail.tsx";
import { Page } from "../../ui/page.tsx";
import { PauseButton } from "../../ui/pause-button.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { usePause } from "../../ui/use-pause.ts";
import { FunctionDetail } from "./function-detail.tsx";
import { FunctionsList } from "./functions-list.tsx";
import { filterFunctions } from "./model.ts";
import { useFunctionStats } from "./use-function-stats.ts";

const route = getRouteApi("/functions/{-$functionId}");

const idOf = ({ function_id }: FunctionItem): string => function_id;

/** Returns the search parameters of the list. The parameters of a single function are left out. */
function listSearch({
  inv: _inv,
  original: _original,
  status: _status,
  source: _source,
  ...others
}: SearchOf<"functions">): SearchOf<"functions"> {
  return others;
}

export default function FunctionsPage() {
  const { functionId } = route.useParams();
  const search = route.useSearch();
  const { q = "", group = "prefix", worker, system = false } = search;
  const navigate = route.useNavigate();
  const place = usePlace();
  // On a narrow screen, the details cover the list and its filters.
  const isCovered = useIsNarrow() && functionId !== undefined;
  const functions = useFunctions();
  const stats = useFunctionStats();
  const modules = useModules();
  const areModulesKnown = useAreModulesKnown();
  const isLoaded = functions.loaded && areModulesKnown;
  const {
    shown: { items, figures },
    ...pause
  } = usePause({ items: functions.items, figures: stats }, isLoaded);
  const visible = useMemo(
    () => filterFunctions(items, { q, worker, system }, modules),
    [items, q, worker, system, modules],
  );
  const visibleNow = useMemo(
    () => filterFunctions(functions.items, { q, worker, system }, modules),
    [functions.items, q, worker, system, modules],
  );
  const systemCount = items.filter((item) => !isOwn(item, modules)).length;
  const selected = functions.items.find(({ function_id }) => function_id === functionId);
  // Selecting an invocation adds a history entry, so that Back closes it. Filters and tabs add none.
  const change = (next: Partial<SearchOf<"functions">>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: next.inv === undefined });
  const select = (id: string | undefined): void =>
    void navigate({
      to: "/functions/{-$functionId}",
      params: { functionId: id },
      search: listSearch,
    });
  const filters = [q === "" ? undefined : `“${q}”`, worker === undefined ? undefined : t`the worker ${worker}`].filter(
    (part) => part !== undefined,
  );
  const list = (
    <DataRegion
      loading={!isLoaded}
      error={
        functions.status === "refused"
          ? new Error(functions.reason ?? t`the engine rejected the subscription`)
          : undefined
      }
      empty={visible.length === 0}
      filtered={
        filters.length === 0
          ? undefined
          : {
              what: t`No function matches ${filters.join(" and ")}.`,
              clear: () => change({ q: undefined, worker: undefined }),
            }
      }
      emptyState={
        <EmptyState title={t`No functions`} snippet={typescriptWorker(place)}>
          <p>{t`A worker registers its functions when it connects. They are listed while it is connected.`}</p>
          {systemCount > 0 && (
            <Button className="mt-3" onClick={() => change({ system: true })}>
              {t`Show ${systemCount} system functions`}
            </Button>
          )}
        </EmptyState>
      }
    >
      <FunctionsList
        items={visible}
        modules={modules}
        grouping={group}
        stats={figures}
        selectedId={functionId}
        isSearching={q !== ""}
        onSelect={select}
      />
    </DataRegion>
  );
  return (
    <Page
      title={t`Functions`}
      titleLink={
        <Link
          to="/functions/{-$functionId}"
          params={{ functionId: undefined }}
          search={listSearch(search)}
          className="hover:underline"
        >
          {t`Functions`}
        </Link>
      }
      subject={functionId}
      count={isLoaded ? visible.length : undefined}
      controls={
        !isCovered && (
          <>
            <FilterTabs
              label={t`Group by`}
              tabs={[
                { value: "prefix", label: t`By prefix` },
                { value: "worker", label: t`By worker` },
              ]}
              value={group}
              onChange={(next) => change({ group: next === "prefix" ? undefined : next })}
            />
            {worker !== undefined && (
              <button
                type="button"
                onClick={() => change({ worker: undefined })}
                aria-label={t`Remove the filter worker: ${worker}`}
                className="inline-flex h-6 items-center gap-1 rounded bg-accent-soft px-2 text-accent"
              >
                {t`worker: ${worker}`}
                <X aria-hidden className="size-3" />
              </button>
            )}
            <label
              className="ml-auto inline-flex items-center gap-1.5 text-ink-2"
              title={t`Show functions of the engine and its modules`}
            >
              <input
                type="checkbox"
                checked={system}
                onChange={(event) => change({ system: event.target.checked || undefined })}
                className="size-3.5"
              />
              {t`System`}
            </label>
            <PauseButton
              isPaused={pause.isPaused}
              waiting={countChanges(visible, visibleNow, idOf)}
              onChange={pause.setPaused}
            />
            <SearchBox
              label={t`Search functions`}
              value={q}
              onChange={(next) => change({ q: next || undefined })}
              className="max-sm:w-full"
            />
          </>
        )
      }
    >
      <ListDetail
        id="functions"
        list={list}
        title={functionId ?? ""}
        detail={
          functionId === undefined ? undefined : (
            <FunctionDetail
              functionId={functionId}
              item={selected}
              isKnown={functions.loaded}
              stats={stats}
              search={search}
              onSearch={change}
            />
          )
        }
        onClose={() => select(undefined)}
      />
    </Page>
  );
}
