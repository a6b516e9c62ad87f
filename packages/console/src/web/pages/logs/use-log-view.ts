import { useEffect, useMemo, useRef, useState } from "react";
import type { Log } from "./log.ts";
import type { PauseMark } from "./log-rows.ts";
import type { LogSession } from "./log-session.ts";
import { useLogRows } from "./use-logs.ts";

/**
 * Entries to show. Newer entries are held back while the view is paused, scrolled away from the newest entry, or shows a
 * selected entry, which they would push out of view. Also while the user searches, so that matches stay.
 */
export function useLogView(
  session: LogSession,
  { selectedId, isFinding }: { readonly selectedId: string | undefined; readonly isFinding: boolean },
) {
  const [isAtTop, setAtTop] = useState(true);
  const [isPaused, setPaused] = useState(false);
  const [marks, setMarks] = useState<readonly PauseMark[]>([]);
  const [heldAt, setHeldAt] = useState<Pick<Log, "timestamp_ms" | "id">>();
  const pause = useRef<{ readonly fromMs: number; readonly received: number; readonly dropped: number }>(null);
  const [releasedId, setReleasedId] = useState<string>();
  const isHeld = isPaused || !isAtTop || isFinding || (selectedId !== undefined && selectedId !== releasedId);
  // A new query is a new list, in which nothing is held back.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => {
    setAtTop(true);
    setMarks([]);
    pause.current = null;
    setPaused(false);
  }, [session]);
  useEffect(() => {
    setHeldAt(isHeld ? session.buffer.newest : undefined);
    session.buffer.follow(!isHeld);
  }, [isHeld, session]);
  const logs = useLogRows(session, heldAt);
  const togglePause = (): void => {
    const { received, dropped } = session.buffer;
    if (pause.current === null) pause.current = { fromMs: Date.now(), received, dropped };
    else {
      const { fromMs, received: before, dropped: droppedBefore } = pause.current;
      const mark = {
        fromMs,
        toMs: Date.now(),
        received: received - before,
        lost: Math.max(0, dropped - droppedBefore),
      };
      pause.current = null;
      setMarks((all) => [...all, mark]);
    }
    setPaused(pause.current !== null);
  };
  return {
    logs,
    marks,
    isPaused,
    togglePause,
    setAtTop,
    isHeld,
    /** Shows newer entries also while the selected entry stays selected. */
    release: () => setReleasedId(selectedId),
    /** Number of entries that are held back. */
    fresh: useMemo(
      () => (heldAt === undefined ? 0 : Math.max(0, session.buffer.size - logs.length)),
      [heldAt, session, logs],
    ),
  };
}
