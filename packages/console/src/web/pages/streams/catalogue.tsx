import { ChevronDown, ChevronRight, Users } from "lucide-react";
import { useState } from "react";
import { rich } from "../../labels/rich.ts";
import { plural, t } from "../../labels/translate.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { cn } from "../../ui/cn.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { useIsNarrow } from "../../ui/list-detail.tsx";
import { subscriptionName } from "./subscription-names.ts";
import { type Stream, useCatalogue, useHasStreamModule } from "./use-catalogue.ts";

const FIRST_GROUPS = 12;

/** List of the streams with their groups, subscribers and type. A click on a group joins it. */
export function Catalogue({
  system,
  joined,
  live,
  onJoin,
  onLeave,
}: {
  readonly system: boolean;
  readonly joined: readonly string[];
  /** Joined groups whose subscription the engine has confirmed. */
  readonly live: readonly string[];
  readonly onJoin: (name: string) => void;
  readonly onLeave: (name: string) => void;
}) {
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(!isNarrow);
  const { data, error, isPending, refetch } = useCatalogue(live.join());
  const hasModule = useHasStreamModule();
  const streams = (data ?? []).filter(({ type }) => system || type === "user");
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <section aria-labelledby="catalogue" className="flex shrink-0 flex-col border-line border-b">
      <h2 id="catalogue" className="px-2 py-0.5">
        <Button
          look="ghost"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          icon={<Chevron aria-hidden className="size-4" />}
          className="font-medium"
        >
          {t`Streams`}{" "}
          {data !== undefined && <span className="font-mono text-[11px] text-ink-3">{streams.length}</span>}
        </Button>
      </h2>
      {isOpen && (
        <div className="flex max-h-52 min-h-16 flex-col overflow-auto">
          <DataRegion
            loading={isPending && error === null}
            error={error}
            retry={() => void refetch()}
            empty={streams.length === 0}
            emptyState={hasModule === false ? <NoModule /> : <NoStreams />}
          >
            <table className="w-full border-collapse">
              <thead className="sticky top-0 bg-canvas text-left text-[12px] text-ink-3">
                <tr>
                  <th scope="col" className="w-[1%] whitespace-nowrap px-4 py-1 font-medium">
                    {t`Name`}
                  </th>
                  <th scope="col" className="px-3 py-1 font-medium">
                    {t`Group`}
                  </th>
                  <th scope="col" className="w-24 px-4 py-1 font-medium sm:w-[60%]">
                    {t`Type`}
                  </th>
                </tr>
              </thead>
              <tbody>
                {streams.map((stream) => (
                  <StreamRow key={stream.name} stream={stream} joined={joined} onJoin={onJoin} onLeave={onLeave} />
                ))}
              </tbody>
            </table>
          </DataRegion>
        </div>
      )}
    </section>
  );
}

function StreamRow({
  stream: { name, type, groups },
  joined,
  onJoin,
  onLeave,
}: {
  readonly stream: Stream;
  readonly joined: readonly string[];
  readonly onJoin: (name: string) => void;
  readonly onLeave: (name: string) => void;
}) {
  const [isExpanded, setExpanded] = useState(false);
  const shown = isExpanded ? groups : groups.slice(0, FIRST_GROUPS);
  return (
    <tr className="border-line/60 border-t align-top">
      <td className="max-w-72 break-words px-4 py-1.5 font-medium max-sm:max-w-28">{name}</td>
      <td className="px-3 py-1">
        {groups.length === 0 && (
          <span className="text-ink-2">{t`Functions store its items, so its groups are not listed.`}</span>
        )}
        <ul className="flex flex-wrap gap-1">
          {shown.map((group) => (
            <li key={group.group_id}>
              <GroupButton
                stream={name}
                group={group}
                isJoined={joined.includes(subscriptionName(name, group.group_id))}
                canJoin={name !== "svc.stream.messages"}
                onJoin={onJoin}
                onLeave={onLeave}
              />
            </li>
          ))}
          {shown.length < groups.length && (
            <li>
              <Button look="ghost" className="h-6" onClick={() => setExpanded(true)}>
                {t`${groups.length - shown.length} more`}
              </Button>
            </li>
          )}
        </ul>
      </td>
      <td className="px-4 py-1.5">
        <Badge tone={type === "system" ? "violet" : "info"}>{type === "system" ? t`System` : t`User`}</Badge>
      </td>
    </tr>
  );
}

function GroupButton({
  stream,
  group: { group_id: id, subscribers, items },
  isJoined,
  canJoin,
  onJoin,
  onLeave,
}: {
  readonly stream: string;
  readonly group: Stream["groups"][number];
  readonly isJoined: boolean;
  readonly canJoin: boolean;
  readonly onJoin: (name: string) => void;
  readonly onLeave: (name: string) => void;
}) {
  const name = subscriptionName(stream, id);
  const subscriberCount = plural(subscribers, "# subscriber", "# subscribers");
  const itemCount = items === null ? "" : plural(items, ", # item", ", # items");
  return (
    <Button
      className={cn("h-6 max-w-64 px-2 text-[12px]", isJoined && "border-accent bg-accent-soft text-accent")}
      aria-pressed={canJoin ? isJoined : undefined}
      disabledReason={canJoin ? undefined : t`The monitor already watches it`}
      title={
        isJoined
          ? t`${subscriberCount}${itemCount}. Leave the group`
          : t`${subscriberCount}${itemCount}. Join the group to receive its events here`
      }
      onClick={() => (isJoined ? onLeave(name) : onJoin(name))}
    >
      <span className="truncate">{id}</span>
      <span className="inline-flex items-center gap-0.5 font-mono text-[11px]">
        <Users aria-hidden className="size-3" />
        {subscribers}
        <span className="sr-only">{plural(subscribers, " subscriber", " subscribers")}</span>
      </span>
    </Button>
  );
}

function NoModule() {
  return (
    <EmptyState title={t`The stream module is not loaded`} snippet={"workers:\n  - name: svc-stream"}>
      {rich`Your own streams need ${<code>svc-stream</code>} in the engine's ${<code>config.yaml</code>}. The engine's streams are available without it.`}
    </EmptyState>
  );
}

function NoStreams() {
  return (
    <p className="px-4 py-2 text-ink-2">
      {rich`No stream has items or subscribers. A stream appears when ${<code>stream::set</code>} stores an item in it or a client joins it.`}
    </p>
  );
}
