import { getRouteApi } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import { useMemo, useState } from "react";
import { t } from "../../labels/translate.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { Timestamp } from "../../ui/time.tsx";
import { itemColumns } from "./item-columns.tsx";
import { ItemsActions } from "./items-actions.tsx";
import { ItemsPager } from "./items-pager.tsx";
import { isSystemGroup } from "./model.ts";
import { useChangedKeys, useItems } from "./use-states.ts";

const route = getRouteApi("/states/{-$group}/{-$key}");

/** Items of a group. The list shows one page of the server. */
export function ItemsPanel({
  group,
  selectedKey,
  onOpen,
  onBack,
}: {
  readonly group: string;
  readonly selectedKey: string | undefined;
  readonly onOpen: (key: string | undefined) => void;
  /** Undefined if the list of groups is visible, so that no way back is needed. */
  readonly onBack: (() => void) | undefined;
}) {
  const { q = "", cursor, size = 100 } = route.useSearch();
  const navigate = route.useNavigate();
  const items = useItems({ scope: group, prefix: q, cursor, limit: size });
  const query = JSON.stringify([group, q, cursor, size]);
  const changed = useChangedKeys(query, items.isPlaceholderData ? undefined : items.data);
  const [ticked, setTicked] = useState<{ readonly query: string; readonly keys: ReadonlySet<string> }>({
    query,
    keys: new Set(),
  });
  const rows = items.data?.items ?? [];
  // Only visible items can be selected. Another page, or the deletion of a selected item, removes items from the
  // selection.
  const here = new Set(rows.map(({ key }) => key));
  const keys = new Set(ticked.query === query ? [...ticked.keys].filter((key) => here.has(key)) : []);
  const setPrefix = (next: string): void =>
    void navigate({ search: (before) => ({ ...before, q: next || undefined, cursor: undefined }), replace: true });
  const columns = useMemo(
    () =>
      itemColumns({
        isCompact: selectedKey !== undefined,
        isTicked: (key) => keys.has(key),
        tick: (key) =>
          setTicked({
            query,
            keys: keys.has(key) ? new Set([...keys].filter((other) => other !== key)) : new Set([...keys, key]),
          }),
      }),
    [selectedKey, keys, query],
  );
  return (
    <section aria-labelledby="states-items-heading" className="flex min-h-0 flex-1 flex-col">
      <div className="flex min-h-10 shrink-0 flex-wrap items-center gap-2 border-line border-b bg-surface px-3 py-1">
        {onBack !== undefined && (
          <Button
            look="ghost"
            aria-label={t`Back to the groups`}
            icon={<ArrowLeft aria-hidden className="size-4" />}
            onClick={onBack}
          />
        )}
        <h2 id="states-items-heading" className="min-w-0 max-w-64 truncate whitespace-pre font-medium" title={group}>
          {group}
        </h2>
        {isSystemGroup(group) && <Badge tone="violet">{t`System`}</Badge>}
        {items.data !== undefined && (
          <span
            className="font-mono text-[11px] text-ink-3"
            title={q === "" ? t`Items of the group` : t`Items whose key starts with this prefix`}
          >
            {items.data.total.toLocaleString("en-GB")}
          </span>
        )}
        <SearchBox
          label={t`Keys that begin with`}
          value={q}
          onChange={setPrefix}
          className="min-w-32 max-w-72 flex-1"
        />
        <ItemsActions
          group={group}
          prefix={q}
          total={items.data?.total ?? 0}
          ticked={rows.filter(({ key }) => keys.has(key))}
          onDeleted={() => {
            // The selection is cleared, so that an undo does not select the restored items again. Otherwise Delete
            // would apply to these items instead of to the group.
            setTicked({ query, keys: new Set() });
            onOpen(undefined);
          }}
        />
      </div>
      <DataRegion
        loading={items.data === undefined}
        error={items.error}
        retry={() => void items.refetch()}
        empty={items.data !== undefined && rows.length === 0 && cursor === undefined}
        filtered={q === "" ? undefined : { what: t`No key begins with “${q}”.`, clear: () => setPrefix("") }}
        emptyState={
          <EmptyState title={t`This group is empty`}>
            {t`A group exists while it has items. It may have been deleted, or it never existed.`}
          </EmptyState>
        }
      >
        <DataTable
          label={t`Items of ${group}`}
          id="items"
          columns={columns}
          rows={rows}
          total={items.data?.total}
          idOf={({ key }) => key}
          selectedId={selectedKey}
          onSelect={({ key }) => onOpen(key)}
          rowClass={({ key }) => (changed.has(key) ? "bg-warn-soft transition-colors" : undefined)}
        />
        <ItemsPager
          page={items.data}
          pending={items.isPlaceholderData}
          asOf={items.dataUpdatedAt === 0 ? null : <Timestamp ms={items.dataUpdatedAt} withMs={false} />}
        />
      </DataRegion>
    </section>
  );
}
