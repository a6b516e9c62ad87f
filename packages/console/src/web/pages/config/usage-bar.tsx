import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { bytes } from "../../lib/time.ts";
import type { StoreFigures } from "../../model/store-figures.ts";
import { Ago } from "../../ui/time.tsx";

/** Usage of a store. The bar shows the share of the count limit or of the byte limit, whichever is higher. */
export function UsageBar({
  name,
  figures,
  off,
}: {
  readonly name: string;
  readonly figures: StoreFigures | null;
  readonly off?: string;
}) {
  if (figures === null) {
    return (
      <div>
        <h3 className="font-medium">{name}</h3>
        <p className="text-ink-3">{off}</p>
      </div>
    );
  }
  const { stored, limit, bytes: used, max_bytes: maxBytes, disk_bytes: onDisk, oldest_ms: oldest } = figures;
  const share = Math.min(
    1,
    Math.max(limit === null || limit === 0 ? 0 : stored / limit, maxBytes === 0 ? 0 : used / maxBytes),
  );
  return (
    <div className="flex flex-col gap-1">
      <h3 className="font-medium">{name}</h3>
      <div aria-hidden className="h-1.5 overflow-hidden rounded-full bg-raised">
        <div
          className={share > 0.9 ? "h-full bg-warn" : "h-full bg-accent"}
          style={{ width: `${Math.max(share * 100, stored > 0 ? 1 : 0)}%` }}
        />
      </div>
      <p className="text-ink-2">
        {stored.toLocaleString("en-GB")}
        {limit !== null && t` of ${limit}`}
        {maxBytes > 0 && t` · ${bytes(used)} of ${bytes(maxBytes)}`}
        {onDisk !== undefined && t` · ${bytes(onDisk)} on disk`}
      </p>
      {oldest !== null && <p className="text-ink-3">{rich`Oldest: ${<Ago ms={oldest} />}`}</p>}
    </div>
  );
}
