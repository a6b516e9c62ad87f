import { isSecretName, MASK } from "@svc-runtime/protocol/secrets";
import { t } from "../../labels/translate.ts";
import { maskedPreview } from "../../lib/secrets.ts";
import { bytes } from "../../lib/time.ts";
import type { Column } from "../../ui/data-table.tsx";
import { Ago } from "../../ui/time.tsx";
import { type Entry, typeOfJson } from "./model.ts";

const PREVIEW = 120;

/**
 * Returns the value as one line of at most 120 characters. Secrets are masked. They are recognized by the item's key or
 * by the name of a member.
 */
export function previewOf({ key, json }: Pick<Entry, "key" | "json">): string {
  return isSecretName(key) ? MASK : maskedPreview(json, PREVIEW);
}

/**
 * Returns the columns of the item list. With `isCompact`, minor columns are left out, to make room for an open item.
 */
export function itemColumns(options: {
  readonly isCompact: boolean;
  readonly isTicked: (key: string) => boolean;
  readonly tick: (key: string) => void;
}): readonly Column<Entry>[] {
  const { isCompact, isTicked, tick } = options;
  const columns: readonly (Column<Entry> & { readonly isMinor?: boolean })[] = [
    {
      key: "tick",
      header: t`Selected`,
      headerHidden: true,
      width: "1.5rem",
      cell: ({ key }) => (
        <input
          type="checkbox"
          aria-label={t`Select ${key}`}
          checked={isTicked(key)}
          onClick={(event) => event.stopPropagation()}
          onChange={() => tick(key)}
          className="block size-4"
        />
      ),
    },
    {
      key: "key",
      header: t`Key`,
      width: "minmax(7rem,1.4fr)",
      cell: ({ key }) => (
        <span className="whitespace-pre font-medium" title={key}>
          {key}
        </span>
      ),
    },
    {
      key: "type",
      header: t`Type`,
      width: "4rem",
      from: 480,
      cell: ({ json }) => <span className="text-ink-2">{typeOfJson(json)}</span>,
    },
    {
      key: "preview",
      header: t`Value`,
      width: "minmax(6rem,2fr)",
      cell: (entry) => <code className="text-ink-2">{previewOf(entry)}</code>,
    },
    {
      key: "bytes",
      header: t`Size`,
      width: "4.5rem",
      align: "right",
      from: 1_100,
      isMinor: true,
      cell: (entry) => bytes(entry.bytes),
    },
    {
      key: "updated",
      header: t`Updated`,
      width: "5.5rem",
      from: 900,
      isMinor: true,
      cell: ({ updatedAtMs }) => <Ago ms={updatedAtMs} />,
    },
    {
      key: "version",
      header: t`Version`,
      width: "4rem",
      align: "right",
      from: 1_100,
      isMinor: true,
      cell: ({ version }) => version,
    },
  ];
  return columns.filter(({ isMinor }) => !(isCompact && isMinor === true));
}
