import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import type { SearchOf } from "../../app/search.ts";
import { usePlace } from "../../app/use-place.ts";
import { t } from "../../labels/translate.ts";
import { downloadText } from "../../lib/download-blob.ts";
import { useHotkey } from "../../lib/hotkeys.ts";
import { sendToStream } from "../../model/example-commands.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { ListDetail } from "../../ui/list-detail.tsx";
import { Page } from "../../ui/page.tsx";
import { Catalogue } from "./catalogue.tsx";
import { CounterStrip } from "./counters.tsx";
import { MessageDetail } from "./message-detail.tsx";
import { exportText } from "./message-file.ts";
import { type MessageTest, messageTest } from "./message-filter.ts";
import { MessageTable } from "./message-table.tsx";
import { SubscriptionsBar } from "./subscriptions-bar.tsx";
import { Actions, Filters } from "./toolbar.tsx";
import { useMonitorState, useShownRows } from "./use-monitor.ts";
import { useSubscriptions } from "./use-subscriptions.ts";
import { useView } from "./use-view.ts";

type Search = SearchOf<"streams">;
const route = getRouteApi("/streams/{-$messageId}");
const NO_NAMES: readonly string[] = [];

export default function StreamsPage() {
  const { messageId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<Search>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const select = (id: string | undefined): void =>
    void navigate({ to: "/streams/{-$messageId}", params: { messageId: id }, search: true });

  const names = useNames(search.sub);
  const state = useMonitorState();
  const states = useSubscriptions(names, state.status !== "joining");
  const join = (name: string): void => change({ sub: [...new Set([...names, name])] });
  const leave = (name: string): void => {
    const left = names.filter((each) => each !== name);
    change({ sub: left.length === 0 ? undefined : left });
  };

  const view = useView();
  const { test, problem } = useTest(search);
  const shown = useShownRows({
    log: view.log,
    test,
    direction: search.dir,
    clearedSeq: view.clearedSeq,
    isHeld: view.isHeld,
  });
  useHotkey("p", t`Pause or resume`, view.togglePause, t`Streams`);
  const isFiltered = [search.q, search.dir, search.stream, search.group, search.type].some(
    (value) => value !== undefined,
  );
  const hidden = view.log.lastSeq - view.clearedSeq;

  const list = (
    <>
      <Filters
        search={search}
        change={change}
        inbound={shown.inbound}
        outbound={shown.outbound}
        hidden={shown.hidden}
        log={view.log}
        problem={problem}
      />
      <DataRegion
        loading={view.offline === undefined && !state.hasBeenLive && state.status !== "refused"}
        error={
          state.status === "refused" ? new Error(t`failed to watch messages: ${state.reason ?? "refused"}`) : undefined
        }
        empty={shown.rows.length === 0}
        filtered={
          isFiltered
            ? {
                what: t`No message matches these filters.`,
                clear: () =>
                  change({ q: undefined, dir: undefined, stream: undefined, group: undefined, type: undefined }),
              }
            : undefined
        }
        emptyState={
          <NothingYet hidden={hidden} search={search} showAll={() => change({ system: true, events: true })} />
        }
      >
        <MessageTable
          rows={shown.rows}
          selectedId={messageId}
          onSelect={({ id }) => select(id)}
          fresh={shown.fresh}
          isPaused={view.isPaused}
          onTop={view.setAtTop}
        />
      </DataRegion>
    </>
  );
  const selected =
    messageId === undefined ? undefined : (shown.rows.find(({ id }) => id === messageId) ?? view.log.find(messageId));
  return (
    <Page
      title={t`Streams`}
      controls={
        <Actions
          isPaused={view.isPaused}
          canPause={view.offline === undefined}
          onPause={view.togglePause}
          onClear={view.clear}
          onExport={(format) =>
            downloadText(
              exportText(shown.rows, format),
              `stream-messages.${format}`,
              format === "json" ? "application/json" : "application/x-ndjson",
            )
          }
          onImport={view.open}
          hasRows={shown.rows.length > 0}
        />
      }
    >
      <CounterStrip log={view.log} />
      <Notice view={view} />
      <Catalogue
        system={search.system === true}
        joined={names}
        live={names.filter((name) => states.get(name)?.status === "live")}
        onJoin={join}
        onLeave={leave}
      />
      <SubscriptionsBar names={names} states={states} onJoin={join} onLeave={leave} />
      <ListDetail
        id="streams"
        list={list}
        title={
          selected?.kind === "message" ? `${selected.type} · ${selected.stream ?? t`connection`}` : (messageId ?? "")
        }
        detail={messageId === undefined ? undefined : <MessageDetail row={selected} rows={view.log.rows()} />}
        onClose={() => select(undefined)}
      />
    </Page>
  );
}

/** Returns the names in the address. The array stays the same object until the address changes. */
function useNames(sub: readonly string[] | undefined): readonly string[] {
  const key = JSON.stringify(sub ?? NO_NAMES);
  return useMemo(() => JSON.parse(key) as readonly string[], [key]);
}

function useTest({ q, stream, group, type, system, events }: Search): {
  readonly test: MessageTest;
  readonly problem: string | undefined;
} {
  return useMemo(() => {
    try {
      return { test: messageTest({ q, stream, group, type, system, events }), problem: undefined };
    } catch (error) {
      return { test: () => false, problem: (error as Error).message };
    }
  }, [q, stream, group, type, system, events]);
}

function Notice({ view }: { readonly view: ReturnType<typeof useView> }) {
  const { offline, failure } = view;
  return (
    <>
      {failure !== undefined && (
        <div role="alert" className="flex items-center gap-3 bg-danger-soft px-4 py-1 text-danger">
          <span className="min-w-0 flex-1">{failure}</span>
          <Button look="ghost" className="h-6 text-danger" onClick={view.dismissFailure}>
            {t`Close`}
          </Button>
        </div>
      )}
      {offline !== undefined && (
        <div role="status" className="flex items-center gap-3 bg-info-soft px-4 py-1 text-info">
          <span className="min-w-0 flex-1">
            {offline.refused > 0
              ? t`${offline.count} messages from the file ${offline.file}, not live. ${offline.refused} of its lines are not messages and were skipped.`
              : t`${offline.count} messages from the file ${offline.file}, not live.`}
          </span>
          <Button look="ghost" className="h-6 text-info" onClick={view.close}>
            {t`Back to live`}
          </Button>
        </div>
      )}
    </>
  );
}

function NothingYet({
  hidden,
  search,
  showAll,
}: {
  readonly hidden: number;
  readonly search: Search;
  readonly showAll: () => void;
}) {
  const place = usePlace();
  const isHiding = hidden > 0 && (search.system !== true || search.events !== true);
  return (
    <EmptyState title={t`No messages yet`} snippet={isHiding ? undefined : sendToStream(place)}>
      <p>
        {t`Messages on stream connections appear here live, in both directions. Join a group above, or connect a client, and write to the group.`}
      </p>
      {isHiding && (
        <p className="mt-3">
          <Button onClick={showAll}>{t`Show system streams and connection events`}</Button>
        </p>
      )}
    </EmptyState>
  );
}
