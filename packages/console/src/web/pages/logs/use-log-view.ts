import { useEffect, useMemo, useRef, useState } from "react";
import type { Log } from "./log.ts";
import type { PauseMark } from "./log-rows.ts";
import type { LogSession } from "./log-session.ts";
import { useLogRows } from "./use-logs.ts";

/**
 * Returns the entries to show. Newer entries are held back in four cases:
 * - the view is paused;
 * - the user has scrolled away from the newest entry;
 * - an entry is selected, because newer entries would push it out of view;
 * - the user searches in the list, because the matches must stay where they are.
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
  // A new query has a new list, so no entries of it are held back.
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
    /** Shows the newer entries although an entry is selected. It stays selected. */
    release: () => setReleasedId(selectedId),
    /** Number of entries that are held back. */
    fresh: useMemo(
      () => (heldAt === undefined ? 0 : Math.max(0, session.buffer.size - logs.length)),
      [heldAt, session, logs],
    ),
  };
}
