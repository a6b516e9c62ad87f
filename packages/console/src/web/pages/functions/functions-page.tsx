import { getRouteApi, Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useMemo } from "react";
import type { SearchOf } from "../../app/search.ts";
import { changesBetween } from "../../lib/changes.ts";
import { isOwn } from "../../lib/own-functions.ts";
import { useFunctions } from "../../lib/use-functions.ts";
import { useAreModulesKnown, useModules } from "../../lib/use-modules.ts";
import type { FunctionItem } from "../../model/functions.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { Page } from "../../ui/page.tsx";
import { PauseButton } from "../../ui/pause-button.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { ListDetail, useIsNarrow } from "../../ui/split.tsx";
import { usePause } from "../../ui/use-pause.ts";
import { FunctionDetail } from "./function-detail.tsx";
import { FunctionsList } from "./functions-list.tsx";
import { filterFunctions } from "./model.ts";
import { useFunctionStats } from "./use-function-stats.ts";

const route = getRouteApi("/functions/{-$functionId}");

const SNIPPET = `import { connect } from "@svc/sdk";

const worker = connect({ name: "my-worker" });
worker.registerFunction("hello::greet", ({ name }) => ({ text: \`Hello \${name}\` }));`;

const idOf = ({ function_id }: FunctionItem): string => function_id;

/** What of the address is about the list, not about one function. */
function listSearch({ inv: _inv, status: _status, source: _source, ...others }: SearchOf<"functions">): SearchOf<"functions"> {
  return others;
}

export default function FunctionsPage() {
  const { functionId } = route.useParams();
  const search = route.useSearch();
  const { q = "", group = "prefix", worker, system = false } = search;
  const navigate = route.useNavigate();
  // On a narrow screen the detail covers the list, and what filters the list with it.
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
  const visible = useMemo(() => filterFunctions(items, { q, worker, system }, modules), [items, q, worker, system, modules]);
  const visibleNow = useMemo(() => filterFunctions(functions.items, { q, worker, system }, modules), [functions.items, q, worker, system, modules]);
  const systemCount = items.filter((item) => !isOwn(item, modules)).length;
  const selected = functions.items.find(({ function_id }) => function_id === functionId);
  // An invocation that is chosen is a step that one can go back from; filters and tabs are none.
  const change = (next: Partial<SearchOf<"functions">>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: next.inv === undefined });
  const choose = (id: string | undefined): void =>
    void navigate({
      to: "/functions/{-$functionId}",
      params: { functionId: id },
      search: listSearch,
    });
  const filters = [q === "" ? undefined : `“${q}”`, worker === undefined ? undefined : `the worker ${worker}`].filter((part) => part !== undefined);
  const list = (
    <DataRegion
      loading={!isLoaded}
      error={functions.status === "refused" ? new Error(functions.reason ?? "the engine refused the list") : undefined}
      empty={visible.length === 0}
      filtered={
        filters.length === 0
          ? undefined
          : { what: `No function's id, description or worker fits ${filters.join(" and ")}.`, clear: () => change({ q: undefined, worker: undefined }) }
      }
      emptyState={
        <EmptyState title="No function is registered" snippet={SNIPPET}>
          <p>A worker registers functions when it connects; they are listed as long as it is there.</p>
          {systemCount > 0 && (
            <Button className="mt-3" onClick={() => change({ system: true })}>
              Show the engine's own {systemCount}
            </Button>
          )}
        </EmptyState>
      }
    >
      <FunctionsList items={visible} modules={modules} grouping={group} stats={figures} selectedId={functionId} isSearching={q !== ""} onSelect={choose} />
    </DataRegion>
  );
  return (
    <Page
      title="Functions"
      titleLink={
        <Link to="/functions/{-$functionId}" params={{ functionId: undefined }} search={listSearch(search)} className="hover:underline">
          Functions
        </Link>
      }
      subject={functionId}
      count={isLoaded ? visible.length : undefined}
      controls={
        !isCovered && (
          <>
            <FilterTabs
              label="Group by"
              tabs={[
                { value: "prefix", label: "By prefix" },
                { value: "worker", label: "By worker" },
              ]}
              value={group}
              onChange={(next) => change({ group: next === "prefix" ? undefined : next })}
            />
            {worker !== undefined && (
              <button
                type="button"
                onClick={() => change({ worker: undefined })}
                aria-label={`Stop filtering by the worker ${worker}`}
                className="inline-flex h-6 items-center gap-1 rounded bg-accent-soft px-2 text-accent"
              >
                worker: {worker}
                <X aria-hidden className="size-3" />
              </button>
            )}
            <label className="ml-auto inline-flex items-center gap-1.5 text-ink-2" title="The functions of the engine and its modules">
              <input type="checkbox" checked={system} onChange={(event) => change({ system: event.target.checked || undefined })} className="size-3.5" />
              System
            </label>
            <PauseButton isPaused={pause.isPaused} waiting={changesBetween(visible, visibleNow, idOf)} onChange={pause.setPaused} />
            <SearchBox label="Search functions" value={q} onChange={(next) => change({ q: next || undefined })} className="max-sm:w-full" />
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
            <FunctionDetail functionId={functionId} item={selected} isKnown={functions.loaded} stats={stats} search={search} onSearch={change} />
          )
        }
        onClose={() => choose(undefined)}
      />
    </Page>
  );
}
