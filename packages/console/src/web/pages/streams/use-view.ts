import { useCallback, useRef, useState } from "react";
import { t } from "../../labels/translate.ts";
import { toast } from "../../ui/toasts.tsx";
import type { Marker } from "./message.ts";
import { importText, totalsOf } from "./message-file.ts";
import { MessageLog } from "./message-log.ts";
import { monitor } from "./monitor.ts";

interface Offline {
  readonly log: MessageLog;
  readonly file: string;
  readonly count: number;
  readonly refused: number;
}

/**
 * Returns the state of the view except its filters: whether it is paused, was cleared, or shows a file instead of the
 * live log.
 */
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
    // Sequence numbers have no gaps, so their difference is the number of evicted rows after the marker.
    const lost = Math.max(0, monitor.log.firstSeq - marker.seq - 1);
    monitor.log.updateMarker(marker, { untilMs: nowMs, received: total - before, lost });
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
      setFailure(t`Failed to show ${file.name}: ${(error as Error).message}`);
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
      toast(t`View cleared. Counters and messages are kept.`, { label: t`Undo`, run: () => setClearedSeq(before) });
    },
    setAtTop,
    isHeld: offline === undefined && (paused || !isAtTop),
  };
}
