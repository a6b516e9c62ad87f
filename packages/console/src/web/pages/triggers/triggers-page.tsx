import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { SearchOf } from "../../app/search.ts";
import { t } from "../../labels/translate.ts";
import { countChanges } from "../../lib/count-changes.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { ListDetail, useIsNarrow } from "../../ui/list-detail.tsx";
import { Page } from "../../ui/page.tsx";
import { PauseButton } from "../../ui/pause-button.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { usePause } from "../../ui/use-pause.ts";
import { countKinds, filterTriggers, KINDS, ofKind, summaryOf } from "./model.ts";
import { TriggerDetail } from "./trigger-detail.tsx";
import { TriggersList } from "./triggers-list.tsx";
import { useCronTriggers, useLastRuns, useTriggers } from "./use-triggers.ts";

const route = getRouteApi("/triggers/{-$triggerId}");

const SNIPPET = `worker.registerTrigger({
  type: "http",
  function_id: "hello::greet",
  config: { api_path: "/hello", http_method: "POST" },
});`;

export default function TriggersPage() {
  const { triggerId } = route.useParams();
  const { q = "", type, system = false } = route.useSearch();
  const navigate = route.useNavigate();
  // On a narrow screen, the details cover the list, so the filters of the list are hidden too.
  const isCovered = useIsNarrow() && triggerId !== undefined;
  const triggers = useTriggers();
  const crons = useCronTriggers(triggers.items.some(({ trigger_type }) => trigger_type === "cron"));
  const lastRuns = useLastRuns();
  const runs = useMemo(() => ({ crons: crons.byId, lastRuns }), [crons.byId, lastRuns]);
  const { shown, ...pause } = usePause({ items: triggers.items, runs }, triggers.loaded);
  const { items } = shown;
  const matching = useMemo(() => filterTriggers(items, { q, system }), [items, q, system]);
  const visible = useMemo(() => ofKind(matching, type), [matching, type]);
  const visibleNow = useMemo(
    () => ofKind(filterTriggers(triggers.items, { q, system }), type),
    [triggers.items, q, system, type],
  );
  const counts = useMemo(() => countKinds(matching), [matching]);
  const selected = triggers.items.find(({ id }) => id === triggerId);
  const change = (next: Partial<SearchOf<"triggers">>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const select = (id: string | undefined): void =>
    void navigate({ to: "/triggers/{-$triggerId}", params: { triggerId: id }, search: true });
  const label = KINDS.find(({ value }) => value === type)?.label;
  const filters = [q === "" ? undefined : `“${q}”`, label === undefined ? undefined : t`the kind ${label}`].filter(
    (part) => part !== undefined,
  );
  const list = (
    <DataRegion
      loading={!triggers.loaded}
      error={
        triggers.status === "refused"
          ? new Error(triggers.reason ?? t`the engine rejected the subscription`)
          : undefined
      }
      empty={visible.length === 0}
      filtered={
        filters.length === 0
          ? undefined
          : {
              what: t`No trigger matches ${filters.join(" and ")}.`,
              clear: () => change({ q: undefined, type: undefined }),
            }
      }
      emptyState={
        <EmptyState title={t`No trigger is registered`} snippet={SNIPPET}>
          {t`A trigger calls a function when an HTTP request arrives, a schedule is due, an event is published or a value changes.`}
        </EmptyState>
      }
    >
      <TriggersList items={visible} runs={shown.runs} selectedId={triggerId} isSearching={q !== ""} onSelect={select} />
    </DataRegion>
  );
  return (
    <Page
      title={t`Triggers`}
      titleLink={
        <Link to="/triggers/{-$triggerId}" params={{ triggerId: undefined }} search={true} className="hover:underline">
          {t`Triggers`}
        </Link>
      }
      subject={selected === undefined ? triggerId : summaryOf(selected)}
      count={triggers.loaded ? matching.length : undefined}
      controls={
        !isCovered && (
          <>
            <FilterTabs
              label={t`Kind of trigger`}
              tabs={[
                { value: "all" as const, label: t`All`, count: triggers.loaded ? matching.length : undefined },
                ...KINDS.map(({ value, label: name }) => ({
                  ...{ value, label: name },
                  count: triggers.loaded ? counts[value] : undefined,
                })),
              ]}
              value={type ?? "all"}
              onChange={(next) => change({ type: next === "all" ? undefined : next })}
            />
            <label className="ml-auto inline-flex items-center gap-1.5 text-ink-2">
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
              waiting={countChanges(visible, visibleNow, ({ id }) => id)}
              onChange={pause.setPaused}
            />
            <SearchBox
              label={t`Search triggers`}
              value={q}
              onChange={(next) => change({ q: next || undefined })}
              className="max-sm:w-full"
            />
          </>
        )
      }
    >
      <ListDetail
        id="triggers"
        list={list}
        title={selected === undefined ? (triggerId ?? "") : summaryOf(selected)}
        detail={
          triggerId === undefined ? undefined : (
            <TriggerDetail
              key={triggerId}
              triggerId={triggerId}
              trigger={selected}
              isKnown={triggers.loaded}
              cron={crons.byId?.get(triggerId)}
              cronError={crons.error}
              siblings={triggers.items}
            />
          )
        }
        onClose={() => select(undefined)}
      />
    </Page>
  );
}
