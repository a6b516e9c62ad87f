import { Link } from "@tanstack/react-router";
import { Bell } from "lucide-react";
import { useState } from "react";
import { rich } from "../labels/rich.ts";
import { t } from "../labels/translate.ts";
import {
  type AlertEvent,
  idOfEvent,
  isRead,
  parseMarks,
  type ReadMarks,
  readAll,
  toggleRead,
} from "../lib/read-notifications.ts";
import { isMissingFunction, usePolledCall } from "../lib/use-polled-call.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { PopoverButton } from "../ui/popover.tsx";
import { Ago } from "../ui/time.tsx";

const STORED = "svc.notifications";
const POLL_MS = 15_000;
const MAX_EVENTS = 50;
const MAX_COUNT = 99;

/**
 * A bell with the number of unread notifications, which are alerts that began or ceased to fire. This browser stores
 * which notifications are read.
 */
export default function Notifications() {
  const { data, error } = usePolledCall<{ readonly events: readonly AlertEvent[] }>(
    "engine::alerts::history",
    ["notifications"],
    () => ({ limit: MAX_EVENTS }),
    { everyMs: POLL_MS },
  );
  const [marks, setMarks] = useState(() => parseMarks(localStorage.getItem(STORED)));
  const store = (next: ReadMarks): void => {
    localStorage.setItem(STORED, JSON.stringify(next));
    setMarks(next);
  };
  if (isMissingFunction(error)) return null;
  const events = [...(data?.events ?? [])].sort((a, b) => b.timestamp - a.timestamp);
  const unread = events.filter((event) => !isRead(marks, event)).length;
  return (
    <PopoverButton
      look="ghost"
      aria-label={unread === 0 ? t`Notifications` : t`Notifications: ${unread} unread`}
      title={t`Notifications`}
      icon={
        <span className="relative">
          <Bell aria-hidden className="size-4" />
          {unread > 0 && (
            <span
              aria-hidden
              className="-top-1.5 -right-2 absolute min-w-3.5 rounded-full bg-danger px-0.5 text-center font-medium text-[10px] text-surface leading-3.5"
            >
              {unread > MAX_COUNT ? `${MAX_COUNT}+` : unread}
            </span>
          )}
        </span>
      }
      opens={{
        label: t`Notifications`,
        className: "flex max-h-[70vh] w-96 flex-col gap-2",
        content: (close) => (
          <>
            <div className="flex items-center gap-2 px-1">
              <span className="flex-1 font-medium">{t`Notifications`}</span>
              <Button look="ghost" disabled={unread === 0} onClick={() => store(readAll(events))}>
                {t`Mark all as read`}
              </Button>
            </div>
            <NotificationList
              events={data === undefined ? undefined : events}
              problem={error?.message}
              isUnread={(event) => !isRead(marks, event)}
              onToggle={(event) => store(toggleRead(marks, event))}
              onOpen={close}
            />
          </>
        ),
      }}
    />
  );
}

/** List of notifications. `events` is undefined until the first result arrives. */
export function NotificationList({
  events,
  problem,
  isUnread,
  onToggle,
  onOpen,
}: {
  readonly events: readonly AlertEvent[] | undefined;
  readonly problem: string | undefined;
  readonly isUnread: (event: AlertEvent) => boolean;
  readonly onToggle: (event: AlertEvent) => void;
  /** Called when a link is followed. */
  readonly onOpen: () => void;
}) {
  const alert = (
    <Link to="/config" search={{ section: "alerts" }} className="text-accent underline" onClick={onOpen}>
      {t`alert`}
    </Link>
  );
  return (
    <>
      {problem !== undefined && <p className="px-1 text-danger">{problem}</p>}
      {events === undefined && problem === undefined && <p className="px-1 pb-1 text-ink-2">{t`Loading…`}</p>}
      {events?.length === 0 && problem === undefined && (
        <p className="px-1 pb-1 text-ink-2">
          {rich`No notifications. An ${alert} that begins or ceases to fire is listed here.`}
        </p>
      )}
      {events !== undefined && events.length > 0 && (
        <ul className="min-h-0 overflow-auto">
          {events.map((event) => (
            <Item
              key={idOfEvent(event)}
              event={event}
              isUnread={isUnread(event)}
              onToggle={() => onToggle(event)}
              onOpen={onOpen}
            />
          ))}
        </ul>
      )}
    </>
  );
}

function Item({
  event,
  isUnread,
  onToggle,
  onOpen,
}: {
  readonly event: AlertEvent;
  readonly isUnread: boolean;
  readonly onToggle: () => void;
  readonly onOpen: () => void;
}) {
  const { name, state, timestamp } = event;
  return (
    <li className="flex items-center gap-2 border-line/60 border-t px-1 py-1">
      <Badge tone={state === "firing" ? "danger" : "ok"}>{state === "firing" ? t`Firing` : t`Resolved`}</Badge>
      <Link
        to="/config"
        search={{ section: "alerts" }}
        onClick={onOpen}
        title={name}
        className={cn("min-w-0 flex-1 truncate hover:underline", isUnread ? "font-medium" : "text-ink-2")}
      >
        {name}
        {isUnread && <span className="sr-only">{t`, unread`}</span>}
      </Link>
      <Ago ms={timestamp} />
      <Button
        look="ghost"
        className="h-6 px-1.5 text-[12px]"
        aria-label={isUnread ? t`Mark as read: ${name}` : t`Mark as unread: ${name}`}
        onClick={onToggle}
      >
        {isUnread ? t`Mark as read` : t`Mark as unread`}
      </Button>
    </li>
  );
}
