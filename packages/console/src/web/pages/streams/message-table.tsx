import { ArrowDownLeft, ArrowUpRight, CirclePause } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { bytes } from "../../lib/time.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { cn } from "../../ui/cn.ts";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Timestamp } from "../../ui/time.tsx";
import { lineOf, type Marker, type MonitorMessage, type MonitorRow } from "./message.ts";

/** Maximum length of a payload in the table, in characters. */
const PREVIEW = 300;
const TONES: Readonly<Record<string, Tone>> = {
  create: "ok",
  update: "info",
  delete: "danger",
  event: "violet",
  unauthorized: "danger",
  error: "danger",
};

function ofMessage(cell: (message: MonitorMessage) => ReactNode): (row: MonitorRow) => ReactNode {
  return (row) => (row.kind === "message" ? cell(row) : null);
}

export function Direction({ direction }: { readonly direction: MonitorMessage["direction"] }) {
  const isIn = direction === "inbound";
  const Icon = isIn ? ArrowDownLeft : ArrowUpRight;
  return (
    <span className={cn("flex w-fit items-center gap-1", isIn ? "text-info" : "text-ok")}>
      <Icon aria-hidden className="size-3.5" />
      {isIn
        ? rich`in${<span className="sr-only">{t`bound`}</span>}`
        : rich`out${<span className="sr-only">{t`bound`}</span>}`}
    </span>
  );
}

const columns: readonly Column<MonitorRow>[] = [
  {
    key: "time",
    header: t`Time`,
    width: "minmax(5.5rem,6.5rem)",
    cell: (row) => <Timestamp ms={row.timestamp} className="font-mono text-[12px] text-ink-2" />,
  },
  {
    key: "direction",
    header: t`Direction`,
    width: "4.25rem",
    from: 420,
    cell: ofMessage(({ direction }) => <Direction direction={direction} />),
  },
  {
    key: "stream",
    header: t`Stream`,
    width: "minmax(6rem,1fr)",
    from: 560,
    cell: ofMessage(({ stream }) => stream ?? "–"),
  },
  {
    key: "group",
    header: t`Group`,
    width: "minmax(5rem,0.8fr)",
    from: 560,
    cell: ofMessage(({ group }) => group ?? "–"),
  },
  {
    key: "type",
    header: t`Type`,
    width: "minmax(4rem,6rem)",
    cell: ofMessage(({ type }) => <Badge tone={TONES[type] ?? "neutral"}>{type}</Badge>),
  },
  {
    key: "preview",
    header: t`Message`,
    width: "minmax(6rem,3fr)",
    cell: (row) =>
      row.kind === "marker" ? (
        <MarkerText marker={row} />
      ) : (
        <code className="text-ink-2">{lineOf(row).slice(0, PREVIEW)}</code>
      ),
  },
  {
    key: "bytes",
    header: t`Bytes`,
    width: "5rem",
    align: "right",
    from: 820,
    cell: ofMessage(({ bytes: size }) => <span title={t`${size} bytes`}>{bytes(size)}</span>),
  },
  {
    key: "connection",
    header: t`Connection`,
    width: "6.5rem",
    from: 980,
    cell: ofMessage(({ connection_id: id }) => <code title={id}>{id.slice(0, 8)}</code>),
  },
];

export function MarkerText({
  marker: { what, timestamp, untilMs, reason, received, lost },
}: {
  readonly marker: Marker;
}) {
  const span = (
    <>
      <Timestamp ms={timestamp} withMs={false} />
      {untilMs !== undefined && rich` to ${<Timestamp ms={untilMs} withMs={false} />}`}
    </>
  );
  if (what === "gap")
    return <strong className="font-medium">{rich`Gap: the engine skipped messages (${reason})`}</strong>;
  if (what === "away")
    return (
      <strong className="font-medium">
        {untilMs === undefined ? rich`Not watched since ${span}: ${reason}` : rich`Not watched ${span}: ${reason}`}
      </strong>
    );
  return (
    <strong className="font-medium">
      {untilMs === undefined ? rich`Paused since ${span}` : rich`Paused ${span}`}
      {received !== undefined && t`: ${received} received, ${lost ?? 0} evicted`}
    </strong>
  );
}

/**
 * The messages, the newest first. While the user reads older messages, new ones are held back, and a button shows them.
 */
export function MessageTable({
  rows,
  selectedId,
  onSelect,
  fresh,
  isPaused,
  onTop,
}: {
  readonly rows: readonly MonitorRow[];
  readonly selectedId: string | undefined;
  readonly onSelect: (row: MonitorRow) => void;
  readonly fresh: number;
  readonly isPaused: boolean;
  readonly onTop: (isAtTop: boolean) => void;
}) {
  const container = useRef<HTMLDivElement>(null);
  const toTop = (): void => {
    const grid = container.current?.querySelector('[role="grid"]');
    if (grid) grid.scrollTop = 0;
    onTop(true);
  };
  return (
    <div ref={container} className="relative flex min-h-0 flex-1 flex-col">
      {isPaused && (
        <p role="status" className="flex items-center gap-2 bg-warn-soft px-4 py-1 text-warn">
          <CirclePause aria-hidden className="size-4" />
          {t`Paused. ${fresh} new since then; resume to show them.`}
        </p>
      )}
      {!isPaused && fresh > 0 && (
        <Button
          look="primary"
          onClick={toTop}
          className="-translate-x-1/2 absolute top-9 left-1/2 z-20 rounded-full shadow-pop"
        >
          {t`${fresh} new`}
        </Button>
      )}
      <DataTable
        label={t`Messages`}
        columns={columns}
        rows={rows}
        idOf={({ id }) => id}
        selectedId={selectedId}
        onSelect={onSelect}
        onTop={onTop}
        rowClass={(row) => (row.kind === "marker" ? "bg-warn-soft text-warn" : undefined)}
      />
    </div>
  );
}
