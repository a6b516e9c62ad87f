import { live } from "../../../lib/live-connection.ts";
import type { TraceSummary } from "../../../model/trace-types.ts";

/** Changed traces are fetched in batches. A batch is fetched this long after its first change, in milliseconds. */
const FETCH_DELAY_MS = 400;
/** Maximum number of changed traces in a batch. */
export const MAX_BATCH = 1_000;

/**
 * Calls `fetchChanged` with the ids of changed traces, one call at a time. Calls `onSync` each time the engine begins
 * to report changes, because it has not reported those since the traces were fetched. Returns a function that stops
 * this.
 */
export function followChanges(
  fetchChanged: (ids: readonly string[], signal: AbortSignal) => Promise<void>,
  onSync: (signal: AbortSignal) => Promise<void>,
): () => void {
  const abort = new AbortController();
  let changed = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isFetching = false;
  const schedule = (): void => {
    if (timer !== undefined || isFetching || changed.size === 0 || abort.signal.aborted) return;
    timer = setTimeout(() => {
      timer = undefined;
      isFetching = true;
      const ids = [...changed];
      changed = new Set();
      void fetchChanged(ids, abort.signal).finally(() => {
        isFetching = false;
        schedule();
      });
    }, FETCH_DELAY_MS);
  };
  const leave = live.subscribe("svc.traces", "all", {
    onSync: () => void onSync(abort.signal).catch(() => undefined),
    onEvent(event) {
      for (const { trace_id: id } of tracesIn(event.data)) if (changed.size < MAX_BATCH) changed.add(id);
      schedule();
    },
  });
  return () => {
    leave();
    clearTimeout(timer);
    abort.abort();
  };
}

/** Returns the summaries in an event of the form `{traces: [summary, …]}`. The event may have its envelope or not. */
export function tracesIn(data: unknown): readonly TraceSummary[] {
  const body = data as {
    readonly traces?: readonly TraceSummary[];
    readonly data?: { readonly traces?: readonly TraceSummary[] };
  } | null;
  return body?.traces ?? body?.data?.traces ?? [];
}
