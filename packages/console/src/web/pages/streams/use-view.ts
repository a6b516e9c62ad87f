import { useCallback, useMemo, useRef, useState } from "react";
import { toast } from "../../ui/toasts.tsx";
import type { Marker } from "./message.ts";
import { MessageLog } from "./message-log.ts";
import { monitor } from "./monitor.ts";
import { importText, totalsOf } from "./transfer.ts";

interface Offline {
  readonly log: MessageLog;
  readonly file: string;
  readonly count: number;
  readonly refused: number;
}

/** What the page does with the log besides filtering it: pause, clear, and a file in its place. */
export function useView() {
  const [offline, setOffline] = useState<Offline>();
  const [failure, setFailure] = useState<string>();
  const [paused, setPaused] = useState(false);
  const [clearedSeq, setClearedSeq] = useState(0);
  const [isAtTop, setAtTop] = useState(true);
  const pause = useRef<{ readonly marker: Marker; readonly total: number }>(null);
  const log = offline?.log ?? monitor.log;

  const togglePause = useCallback((): void => {
    const nowMs = Date.now();
    const { total } = monitor.log.counters(nowMs);
    if (pause.current === null) {
      pause.current = { marker: monitor.log.mark({ what: "paused", timestamp: nowMs }), total };
      setPaused(true);
      return;
    }
    const { marker, total: before } = pause.current;
    pause.current = null;
    // Rows are numbered without a hole: what is before the oldest one and after the marker is gone.
    const lost = Math.max(0, monitor.log.firstSeq - marker.seq - 1);
    monitor.log.amend(marker, { untilMs: nowMs, received: total - before, lost });
    setPaused(false);
  }, []);

  const open = async (file: File): Promise<void> => {
    try {
      const { messages, refused } = importText(await file.text());
      const imported = new MessageLog(`file-${Date.now().toString(36)}`);
      imported.begin(totalsOf([]));
      imported.add({ messages, totals: totalsOf(messages) }, Date.now());
      setOffline({ log: imported, file: file.name, count: messages.length, refused });
      setFailure(undefined);
    } catch (error) {
      setFailure(`${file.name} cannot be shown: ${(error as Error).message}`);
    }
  };

  return {
    log,
    offline,
    failure,
    dismissFailure: () => setFailure(undefined),
    open: (file: File) => void open(file),
    close: () => setOffline(undefined),
    isPaused: paused && offline === undefined,
    togglePause,
    clearedSeq: offline === undefined ? clearedSeq : 0,
    clear: () => {
      const before = clearedSeq;
      setClearedSeq(monitor.log.lastSeq);
      toast("The view is cleared. Counters go on, and the messages are still there.", { label: "Show them again", run: () => setClearedSeq(before) });
    },
    setAtTop,
    isHeld: offline === undefined && (paused || !isAtTop),
    rows: useMemo(() => () => log.rows(), [log]),
  };
}
