import { getRouteApi } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useMemo } from "react";
import type { SearchOf } from "../../app/search.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { ListDetail, useIsNarrow } from "../../ui/split.tsx";
import { FunctionDetail } from "./function-detail.tsx";
import { FunctionsList } from "./functions-list.tsx";
import { filterFunctions } from "./model.ts";
import { useFunctionStats, useFunctions } from "./use-functions.ts";

const route = getRouteApi("/functions/{-$functionId}");

const SNIPPET = `import { connect } from "@svc/sdk";

const worker = connect({ name: "my-worker" });
worker.registerFunction("hello::greet", ({ name }) => ({ text: \`Hello \${name}\` }));`;

export default function FunctionsPage() {
  const { functionId } = route.useParams();
  const search = route.useSearch();
  const { q = "", group = "prefix", worker, system = false } = search;
  const navigate = route.useNavigate();
  // On a narrow screen the detail covers the list, and what filters the list with it.
  const isCovered = useIsNarrow() && functionId !== undefined;
  const functions = useFunctions();
  const stats = useFunctionStats();
  const visible = useMemo(() => filterFunctions(functions.items, { q, worker, system }), [functions.items, q, worker, system]);
  const selected = functions.items.find(({ function_id }) => function_id === functionId);
  const change = (next: Partial<SearchOf<"functions">>): void => void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const choose = (id: string | undefined): void =>
    void navigate({
      to: "/functions/{-$functionId}",
      params: { functionId: id },
      search: ({ inv: _inv, status: _status, source: _source, ...before }) => before,
    });
  const filters = [q === "" ? undefined : `“${q}”`, worker === undefined ? undefined : `the worker ${worker}`].filter((part) => part !== undefined);
  const list = (
    <DataRegion
      loading={!functions.loaded}
      error={functions.status === "refused" ? new Error(functions.reason ?? "the engine refused the list") : undefined}
      empty={visible.length === 0}
      filtered={
        filters.length === 0
          ? undefined
          : { what: `No function's id, description or worker fits ${filters.join(" and ")}.`, clear: () => change({ q: undefined, worker: undefined }) }
      }
      emptyState={
        <EmptyState title="No function is registered" snippet={SNIPPET}>
          A worker registers functions when it connects; they are listed as long as it is there.
        </EmptyState>
      }
    >
      <FunctionsList items={visible} grouping={group} stats={stats} selectedId={functionId} isSearching={q !== ""} onSelect={choose} />
    </DataRegion>
  );
  return (
    <Page
      title="Functions"
      subject={functionId}
      count={functions.loaded ? visible.length : undefined}
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
            <label className="ml-auto inline-flex items-center gap-1.5 text-ink-2">
              <input type="checkbox" checked={system} onChange={(event) => change({ system: event.target.checked || undefined })} className="size-3.5" />
              System
            </label>
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
