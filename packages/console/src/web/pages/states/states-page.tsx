import { getRouteApi } from "@tanstack/react-router";
import { Database, Plus, Upload } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Group, Panel, Separator } from "react-resizable-panels";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
import { fromSegment, toSegment } from "../../lib/path-segment.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState, SkeletonRows } from "../../ui/data-region.tsx";
import { ListDetail, useIsNarrow } from "../../ui/list-detail.tsx";
import { isModuleMissing, ModuleMissing } from "../../ui/module-missing.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { AddItemDialog } from "./add-item-dialog.tsx";
import { GroupsPanel } from "./groups-panel.tsx";
import { ImportDialog } from "./import-dialog.tsx";
import { ItemsPanel } from "./items-panel.tsx";
import { useGroups } from "./use-states.ts";

const QueryResults = lazy(() => import("./query-results.tsx"));
const ItemDetail = lazy(() => import("./item-detail.tsx"));
const route = getRouteApi("/states/{-$group}/{-$key}");

/**
 * Minimum width of the window for three panels, in pixels. In a narrower window, an open item hides the list of groups.
 */
const THREE_PANELS_WIDTH = 1_200;

export default function StatesPage() {
  const params = route.useParams();
  const group = params.group === undefined ? undefined : fromSegment(params.group);
  const key = params.key === undefined ? undefined : fromSegment(params.key);
  const { gq = "", system = false, query } = route.useSearch();
  const navigate = route.useNavigate();
  const groups = useGroups(gq);
  const refusal = useWriteRefusal(useLiveState().phase);
  const [dialog, setDialog] = useState<"add" | "import" | undefined>();
  const isNarrow = useIsNarrow();
  const isTight = useIsNarrow(THREE_PANELS_WIDTH);

  const setQuery = (next: string): void =>
    void navigate({ search: (before) => ({ ...before, query: next || undefined }), replace: true });
  const open = (nextGroup: string | undefined, nextKey?: string, isQueryKept = true): void => {
    const isSame = nextGroup === group;
    void navigate({
      to: "/states/{-$group}/{-$key}",
      params: {
        group: nextGroup === undefined ? undefined : toSegment(nextGroup),
        key: nextKey === undefined ? undefined : toSegment(nextKey),
      },
      search: (before) => ({
        ...before,
        ...(isSame ? {} : { q: undefined, cursor: undefined, tab: undefined }),
        ...(isQueryKept ? {} : { query: undefined }),
      }),
    });
  };

  if (isModuleMissing(groups.error)) {
    return (
      <Page title={t`States`}>
        <ModuleMissing module="svc-state" what={t`State`} />
      </Page>
    );
  }
  const add = (
    <Button
      look="primary"
      icon={<Plus aria-hidden className="size-3.5" />}
      disabledReason={refusal}
      onClick={() => setDialog("add")}
    >
      {t`Add item`}
    </Button>
  );
  const list = (
    <ListPanel
      query={query}
      withSystem={system}
      group={group}
      itemKey={key}
      onOpen={open}
      onBack={isNarrow || (isTight && key !== undefined) ? () => open(undefined) : undefined}
      onClear={() => setQuery("")}
    />
  );
  const items = (
    <ListDetail
      id="states-items"
      list={list}
      title={isNarrow && key !== undefined ? `${group} / ${key}` : (key ?? "")}
      detail={
        group === undefined || key === undefined ? undefined : (
          <Suspense fallback={<SkeletonRows rows={6} />}>
            <ItemDetail key={JSON.stringify([group, key])} group={group} itemKey={key} />
          </Suspense>
        )
      }
      onClose={() => open(query === undefined ? group : undefined)}
    />
  );
  const groupList = <GroupsPanel query={groups} selected={group} onOpen={(next) => open(next, undefined, false)} />;
  return (
    <Page
      title={t`States`}
      subject={key ?? group}
      controls={
        <>
          <SearchBox
            label={t`Query the items of all groups`}
            hotkey={undefined}
            value={query ?? ""}
            onChange={setQuery}
            className="min-w-48 max-w-md flex-1"
          />
          <div className="ml-auto flex flex-wrap items-center gap-2">
            <label
              className="flex items-center gap-1.5 text-ink-2"
              title={t`Show the system's groups, whose names start with __`}
            >
              <input
                type="checkbox"
                checked={system}
                onChange={(event) =>
                  void navigate({
                    search: (before) => ({ ...before, system: event.target.checked || undefined }),
                    replace: true,
                  })
                }
              />
              {t`System`}
            </label>
            <Button
              icon={<Upload aria-hidden className="size-3.5" />}
              disabledReason={refusal}
              onClick={() => setDialog("import")}
            >
              {t`Import`}
            </Button>
            {add}
          </div>
        </>
      }
    >
      {isNarrow ? (
        group === undefined && query === undefined ? (
          groupList
        ) : (
          items
        )
      ) : isTight && key !== undefined ? (
        items
      ) : (
        <Group orientation="horizontal" id="states" className="min-h-0 flex-1">
          <Panel id="groups" minSize="200px" maxSize="45%" defaultSize="22%" className="flex flex-col">
            {groupList}
          </Panel>
          <Separator
            aria-label={t`Width of the groups`}
            className="w-px bg-line outline-offset-0 hover:bg-accent data-[separator=drag]:bg-accent"
          />
          <Panel id="items" minSize="50%" className="flex flex-col">
            {items}
          </Panel>
        </Group>
      )}
      {dialog === "add" && (
        <AddItemDialog
          group={group ?? ""}
          onClose={() => setDialog(undefined)}
          onOpen={(newGroup, newKey) => open(newGroup, newKey)}
        />
      )}
      {dialog === "import" && <ImportDialog onClose={() => setDialog(undefined)} />}
    </Page>
  );
}

/** List of items: those that match the query if there is one, otherwise those of the group. */
function ListPanel({
  query,
  withSystem,
  group,
  itemKey,
  onOpen,
  onBack,
  onClear,
}: {
  readonly query: string | undefined;
  readonly withSystem: boolean;
  readonly group: string | undefined;
  readonly itemKey: string | undefined;
  readonly onOpen: (group: string | undefined, key?: string) => void;
  readonly onBack: (() => void) | undefined;
  readonly onClear: () => void;
}) {
  if (query !== undefined) {
    return (
      <Suspense fallback={<SkeletonRows rows={6} />}>
        <QueryResults
          query={query}
          withSystem={withSystem}
          selected={group === undefined || itemKey === undefined ? undefined : JSON.stringify([group, itemKey])}
          onOpen={({ scope, key }) => onOpen(scope, key)}
          onClear={onClear}
        />
      </Suspense>
    );
  }
  if (group === undefined) {
    return (
      <EmptyState title={t`No group selected`}>
        <Database aria-hidden className="mx-auto mb-2 size-5 text-ink-3" />
        {t`Select a group to see its items.`}
      </EmptyState>
    );
  }
  return (
    <ItemsPanel
      key={group}
      group={group}
      selectedKey={itemKey}
      onOpen={(nextKey) => onOpen(group, nextKey)}
      onBack={onBack}
    />
  );
}
