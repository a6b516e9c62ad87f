import type { SearchOf } from "../../app/search.ts";
import { t } from "../../labels/translate.ts";
import type { Graph } from "../../model/flow-graph.ts";
import { Button } from "../../ui/button.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { MoreTools } from "../../ui/more-tools.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { ExportMenu } from "./export-menu.tsx";
import { GroupsMenu, LayersMenu } from "./flow-menus.tsx";
import type { Positions } from "./layout/positions.ts";
import type { FlowGroup } from "./model/groups.ts";

type Search = SearchOf<"flow">;

interface FlowControlsProps {
  readonly search: Search;
  readonly defaultRange: string;
  readonly isPart: boolean;
  readonly groups: readonly FlowGroup[];
  readonly closed: readonly string[];
  readonly isSample: boolean;
  readonly graph: Graph;
  readonly positions: Positions | undefined;
  readonly resetRefusal: string | undefined;
  readonly onSearch: (change: Partial<Search>) => void;
  readonly onWhole: () => void;
  readonly onReset: () => void;
}

/** Controls that filter and arrange the graph. Their state is in the URL. */
export function FlowControls({
  search,
  defaultRange,
  isPart,
  groups,
  closed,
  isSample,
  graph,
  positions,
  resetRefusal,
  onSearch,
  onWhole,
  onReset,
}: FlowControlsProps) {
  const { q = "", hops, range = defaultRange, system = false, dir = "lr", view, layers } = search;
  return (
    <>
      {isPart && <Button onClick={onWhole}>{t`Whole system`}</Button>}
      {hops !== undefined && <Button onClick={() => onSearch({ hops: undefined })}>{t`Show all nodes`}</Button>}
      <FilterTabs
        label={t`View`}
        value={view ?? "graph"}
        onChange={(next) => onSearch({ view: next === "list" ? "list" : undefined })}
        tabs={[
          { value: "graph", label: t`Graph` },
          { value: "list", label: t`List` },
        ]}
      />
      <span className="flex-1 max-sm:hidden" />
      <MoreTools>
        <LayersMenu shown={layers} onChange={(next) => onSearch({ layers: next })} />
        <GroupsMenu groups={groups} closed={closed} onChange={(next) => onSearch({ closed: next })} />
        <label className="flex items-center gap-1.5 text-ink-2" title={t`Functions and triggers of the engine itself`}>
          <input
            type="checkbox"
            checked={system}
            onChange={(event) => onSearch({ system: event.target.checked || undefined })}
          />
          {t`System`}
        </label>
        {view === undefined && (
          <>
            <select
              aria-label={t`Direction`}
              className="h-7 rounded-md border border-line-strong/60 bg-surface px-1.5"
              value={dir}
              onChange={(event) => onSearch({ dir: event.target.value === "tb" ? "tb" : undefined })}
            >
              <option value="lr">{t`Left to right`}</option>
              <option value="tb">{t`Top to bottom`}</option>
            </select>
            <Button disabledReason={resetRefusal} onClick={onReset}>
              {t`Reset layout`}
            </Button>
          </>
        )}
        <ExportMenu {...{ graph, isSample }} positions={positions ?? new Map()} isVertical={dir === "tb"} />
      </MoreTools>
      <TimeRange
        value={{ range }}
        fallback={defaultRange}
        presets={["5m", "15m", "1h", "6h", "24h"]}
        withAbsolute={false}
        onChange={(next) => onSearch({ range: next.range })}
      />
      <SearchBox label={t`Search the flow`} value={q} onChange={(next) => onSearch({ q: next || undefined })} />
    </>
  );
}
