import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { type LiveState, live } from "./live-connection.ts";
import { type WorkersNow, workerHistory } from "./worker-history.ts";

export function useLiveState(): LiveState {
  return useSyncExternalStore(live.onState, live.getState);
}

/** The current items of a group of a stream, updated live. */
export interface LiveCollection<Item> {
  /** False until the first sync. Until then, an empty list does not mean that there are no items. */
  readonly loaded: boolean;
  readonly items: readonly Item[];
  readonly status: "joining" | "live" | "refused";
  readonly reason: string | null;
  /** Time of the last update, on the page's clock. */
  readonly asOfMs: number | undefined;
}

const NOTHING: LiveCollection<never> = { loaded: false, items: [], status: "joining", reason: null, asOfMs: undefined };

/**
 * Returns the current items of a stream whose items have ids, for example `svc.workers`. `idOf` returns the id of an
 * item if the sync has no ids. Changes are applied at most once per frame.
 */
export function useLiveCollection<Item>(
  stream: string,
  idOf: (item: Item) => string,
  group = "all",
): LiveCollection<Item> {
  const [state, setState] = useState<LiveCollection<Item>>(NOTHING);
  const idOfRef = useRef(idOf);
  idOfRef.current = idOf;
  useEffect(() => {
    const items = new Map<string, Item>();
    let next: LiveCollection<Item> = NOTHING;
    let frame = 0;
    const show = (change: Partial<LiveCollection<Item>>): void => {
      next = { ...next, ...change };
      if (frame !== 0) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        next = { ...next, items: [...items.values()] };
        setState(next);
      });
    };
    const leave = live.subscribe(stream, group, {
      onSync(data, ids) {
        items.clear();
        for (const [at, item] of (data as readonly Item[]).entries())
          items.set(ids?.[at] ?? idOfRef.current(item), item);
        show({ loaded: true, asOfMs: Date.now() });
      },
      onEvent(event) {
        if (event.id === null) return;
        if (event.type === "delete") items.delete(event.id);
        else if (event.type !== "event") items.set(event.id, event.data as Item);
        show({ asOfMs: Date.now() });
      },
      onStatus: (status, reason) => show({ status, reason }),
    });
    return () => {
      cancelAnimationFrame(frame);
      leave();
    };
  }, [stream, group]);
  return state;
}

/** Returns the current workers, and those that have disconnected since the page was opened. */
export function useWorkers(): WorkersNow {
  return useSyncExternalStore(workerHistory.listen, workerHistory.get);
}
