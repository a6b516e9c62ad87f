import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { live } from "../../lib/live-connection.ts";
import { FilteredRows, type ShownRows } from "./filtered-rows.ts";
import type { MonitorRow } from "./message.ts";
import type { MessageTest } from "./message-filter.ts";
import type { MessageLog } from "./message-log.ts";
import { type MonitorState, monitor } from "./monitor.ts";

const PING_SECONDS = 5;

/** Records messages while the component is mounted. Returns the state of the monitor. */
export function useMonitorState(): MonitorState {
  useEffect(() => monitor.watch(), []);
  return useSyncExternalStore(monitor.listen, monitor.getState);
}

/**
 * Returns a number that changes when the log changes. It changes at most once per frame, and not while the page is
 * hidden.
 */
export function useFrames(log: MessageLog): number {
  const [frame, setFrame] = useState(0);
  useEffect(() => {
    let request = 0;
    const stop = log.listen(() => {
      if (request !== 0) return;
      request = requestAnimationFrame(() => {
        request = 0;
        setFrame((before) => before + 1);
      });
    });
    setFrame((before) => before + 1);
    return () => {
      cancelAnimationFrame(request);
      stop();
    };
  }, [log]);
  return frame;
}

interface Shown extends ShownRows {
  /** Number of matching messages that arrived since the view is held (paused). */
  readonly fresh: number;
}

/** Returns the rows to show. A view that is held does not change, even if the log evicts its rows. */
export function useShownRows(options: {
  readonly log: MessageLog;
  readonly test: MessageTest;
  readonly direction: "inbound" | "outbound" | undefined;
  readonly clearedSeq: number;
  readonly isHeld: boolean;
}): Shown {
  const { log, test, direction, clearedSeq, isHeld } = options;
  const frame = useFrames(log);
  const source = useMemo(() => (isHeld ? heldRows(log) : log), [log, isHeld]);
  const view = useMemo(() => new FilteredRows(source, test, clearedSeq), [source, test, clearedSeq]);
  const fresh = useMemo(
    () => (isHeld ? new FilteredRows(log, test, Math.max(clearedSeq, source.lastSeq)) : undefined),
    [log, source, test, clearedSeq, isHeld],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: each frame may bring new rows
  return useMemo(() => {
    const newCount = fresh?.read(direction).rows.filter(({ kind }) => kind === "message").length ?? 0;
    return { ...view.read(direction), fresh: newCount };
  }, [view, fresh, direction, frame]);
}

function heldRows(log: MessageLog): Pick<MessageLog, "since" | "firstSeq" | "lastSeq"> {
  const rows: readonly MonitorRow[] = [...log.rows()];
  const { firstSeq, lastSeq } = log;
  return { firstSeq, lastSeq, since: (seq) => (seq >= lastSeq ? [] : rows.filter((row) => row.seq > seq)) };
}

/** Returns the round-trip time to the console's server in milliseconds, measured every 5 s. */
export function useRoundTrip(): number | undefined {
  const [shown, setShown] = useState(live.roundTripMs);
  useEffect(() => {
    let seconds = 0;
    live.ping();
    const timer = setInterval(() => {
      setShown(live.roundTripMs);
      seconds++;
      if (seconds % PING_SECONDS === 0) live.ping();
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  return shown;
}
