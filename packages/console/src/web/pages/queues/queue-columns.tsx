import { AlertTriangle, CornerDownRight, ListOrdered, Megaphone, Pause } from "lucide-react";
import { t } from "../../labels/translate.ts";
import { Badge } from "../../ui/badge.tsx";
import type { Column } from "../../ui/data-table.tsx";
import type { Row } from "./model.ts";

const ICONS = { queue: ListOrdered, topic: Megaphone, subscription: CornerDownRight } as const;
const KINDS = { queue: t`Queue`, topic: t`Topic`, subscription: t`Subscriber` } as const;

function Count({ value, tone }: { readonly value: number | null; readonly tone?: string }) {
  if (value === null) return <span className="text-ink-3">–</span>;
  return <span className={value === 0 ? "text-ink-3" : (tone ?? "font-medium")}>{value.toLocaleString("en-GB")}</span>;
}

/**
 * Returns the columns of the list. With `isCompact`, minor columns are left out, because open details leave little
 * room.
 */
export function queueColumns(isCompact: boolean): readonly Column<Row>[] {
  const columns: readonly (Column<Row> & { readonly isMinor?: boolean })[] = [
    {
      key: "name",
      header: t`Name`,
      width: "minmax(8rem,2fr)",
      cell: ({ kind, label, paused }) => {
        const Icon = ICONS[kind];
        return (
          <span className={`flex items-center gap-2 ${kind === "subscription" ? "pl-4" : ""}`}>
            <Icon aria-hidden className="size-3.5 shrink-0 text-ink-3" />
            <span className="truncate font-medium" title={label}>
              {label}
            </span>
            {paused && (
              <Badge tone="warn" icon={<Pause aria-hidden className="size-3" />}>
                {t`Paused`}
              </Badge>
            )}
          </span>
        );
      },
    },
    {
      key: "kind",
      header: t`Kind`,
      width: "6rem",
      from: 640,
      isMinor: true,
      cell: ({ kind }) => <span className="text-ink-2">{KINDS[kind]}</span>,
    },
    {
      key: "waiting",
      header: t`Waiting`,
      width: "4rem",
      align: "right",
      cell: ({ waiting }) => <Count value={waiting} />,
    },
    {
      key: "active",
      header: t`In flight`,
      width: "4.5rem",
      align: "right",
      from: 640,
      cell: ({ active }) => <Count value={active} />,
    },
    {
      key: "delayed",
      header: t`Delayed`,
      width: "4.5rem",
      align: "right",
      from: 640,
      cell: ({ delayed }) => <Count value={delayed} />,
    },
    {
      key: "dead",
      header: t`Dead`,
      width: "4rem",
      align: "right",
      cell: ({ dead }) => (
        <span className="flex items-center justify-end gap-1">
          {dead !== null && dead > 0 && <AlertTriangle aria-hidden className="size-3.5 text-danger" />}
          <Count value={dead} tone="font-medium text-danger" />
        </span>
      ),
    },
  ];
  return columns.filter(({ isMinor }) => !(isCompact && isMinor === true));
}
