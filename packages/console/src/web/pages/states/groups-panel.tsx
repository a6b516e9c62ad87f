import { getRouteApi } from "@tanstack/react-router";
import { usePlace } from "../../app/use-place.ts";
import { plural, t } from "../../labels/translate.ts";
import { bytes } from "../../lib/time.ts";
import { setState } from "../../model/example-commands.ts";
import type { StateGroup } from "../../model/state-groups.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { isSystemGroup } from "./model.ts";
import type { useGroups } from "./use-states.ts";

const route = getRouteApi("/states/{-$group}/{-$key}");

const columns: readonly Column<StateGroup>[] = [
  {
    key: "scope",
    header: t`Group`,
    width: "minmax(5rem,1fr)",
    cell: ({ scope }) => (
      <span className="whitespace-pre" title={scope}>
        {scope}
      </span>
    ),
  },
  { key: "items", header: t`Items`, width: "4rem", align: "right", cell: ({ items }) => items.toLocaleString("en-GB") },
  {
    key: "bytes",
    header: t`Size`,
    width: "4.5rem",
    align: "right",
    cell: (group) => <span className="text-ink-3">{bytes(group.bytes)}</span>,
  },
];

/** Lists the groups that have items, sorted by name. Groups of the system are shown if the address has `system`. */
export function GroupsPanel({
  query,
  selected,
  onOpen,
}: {
  readonly query: ReturnType<typeof useGroups>;
  readonly selected: string | undefined;
  readonly onOpen: (group: string) => void;
}) {
  const { gq = "", system = false } = route.useSearch();
  const place = usePlace();
  const navigate = route.useNavigate();
  const all = query.data?.pages.flatMap(({ items }) => items) ?? [];
  const visible = all.filter(({ scope }) => system || scope === selected || !isSystemGroup(scope));
  const hidden = all.length - visible.length;
  const setPrefix = (next: string): void =>
    void navigate({ search: (before) => ({ ...before, gq: next || undefined }), replace: true });
  return (
    <section aria-labelledby="states-groups-heading" className="flex min-h-0 flex-1 flex-col bg-surface">
      <div className="flex h-10 shrink-0 items-center gap-2 border-line border-b px-3">
        <h2 id="states-groups-heading" className="font-medium">
          {t`Groups`}
        </h2>
        <SearchBox
          label={t`Groups that begin with`}
          value={gq}
          onChange={setPrefix}
          hotkey={selected === undefined ? "/" : undefined}
          className="ml-auto min-w-0 flex-1"
        />
      </div>
      <DataRegion
        loading={query.data === undefined}
        error={query.error}
        retry={() => void query.refetch()}
        empty={query.data !== undefined && visible.length === 0 && query.hasNextPage === false}
        filtered={gq === "" ? undefined : { what: t`No group begins with “${gq}”.`, clear: () => setPrefix("") }}
        emptyState={
          <EmptyState title={t`Nothing is stored`} snippet={setState(place)}>
            {t`State stores values by group and key. Functions write them; you can also add one here.`}
            {hidden > 0 && (
              <p className="mt-1">{plural(hidden, "One system group is hidden.", "# system groups are hidden.")}</p>
            )}
          </EmptyState>
        }
      >
        <DataTable
          label={t`Groups`}
          columns={columns}
          rows={visible}
          idOf={({ scope }) => scope}
          selectedId={selected}
          onSelect={({ scope }) => onOpen(scope)}
        />
        {query.hasNextPage && (
          <div className="border-line border-t p-2 text-center">
            <Button look="ghost" isPending={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              {t`Show more groups`}
            </Button>
          </div>
        )}
      </DataRegion>
    </section>
  );
}
