import { t } from "../../../labels/translate.ts";
import type { StoreFigures } from "../../../model/store-figures.ts";

export interface Retention {
  /** Time since which all traces are stored. Undefined if none was evicted. */
  readonly sinceMs: number | undefined;
  /** Time since which failed and slow traces are stored. Undefined if it is not earlier than `sinceMs`. */
  readonly failedSinceMs: number | undefined;
  /** Names of the settings that extend the time. */
  readonly extension: string;
}

/** If the two times differ by less than this, in milliseconds, only one of them is shown. */
const MIN_DIFFERENCE_MS = 60_000;

/** Returns how far back the stored traces reach. Returns undefined if the engine does not report it. */
export function retentionOf(spans: StoreFigures | null | undefined): Retention | undefined {
  if (spans?.complete_since_ms === undefined) return undefined;
  const { complete_since_ms: since, oldest_ms: oldest, limit, disk_bytes } = spans;
  const isOnDisk = disk_bytes !== undefined;
  const isEarlier = since !== null && oldest !== null && since - oldest >= MIN_DIFFERENCE_MS;
  return {
    sinceMs: since ?? undefined,
    failedSinceMs: isEarlier ? oldest : undefined,
    extension: isOnDisk
      ? t`Traces are stored on disk. To keep them longer, raise trace_storage.max_disk_bytes or trace_storage.retention_seconds of svc-observability.`
      : t`The newest ${limit ?? 0} spans are stored in memory. To keep traces longer, store all of them on disk with trace_storage of svc-observability, or raise memory_max_spans and memory_max_bytes.`,
  };
}
