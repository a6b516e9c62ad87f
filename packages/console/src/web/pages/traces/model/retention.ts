import { t } from "../../../labels/translate.ts";
import type { StoreFigures } from "../../../model/store-figures.ts";

export interface Retention {
  /** Since when all traces are stored; undefined: none was evicted. */
  readonly sinceMs: number | undefined;
  /** Since when failed and slow traces are stored, if that is earlier. */
  readonly failedSinceMs: number | undefined;
  /** Names the settings that extend it. */
  readonly extension: string;
}

/** Differences below a minute are not worth a second time. */
const MIN_DIFFERENCE_MS = 60_000;

/** Returns how far back the stored traces reach. Undefined: the engine does not report it. */
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
