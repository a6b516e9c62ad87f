import { useEffect, useRef, useState } from "react";
import { t } from "../../labels/translate.ts";
import { live } from "../../lib/live-connection.ts";
import { readSubscription } from "./subscription-names.ts";

export interface SubscriptionState {
  readonly status: "joining" | "live" | "rejoining" | "refused";
  readonly reason: string | null;
}

/**
 * Joins the named groups, and leaves all others. Waits until the monitor records messages, so that it sees those of the
 * first join.
 */
export function useSubscriptions(
  names: readonly string[],
  isWatching: boolean,
): ReadonlyMap<string, SubscriptionState> {
  const [hasWatched, setHasWatched] = useState(false);
  if (isWatching && !hasWatched) setHasWatched(true);
  const [states, setStates] = useState<ReadonlyMap<string, SubscriptionState>>(new Map());
  const joined = useRef(new Map<string, () => void>());
  useEffect(() => {
    if (!hasWatched) return;
    const set = (name: string, next: (before: SubscriptionState | undefined) => SubscriptionState | undefined): void =>
      setStates((all) => {
        const changed = new Map(all);
        const state = next(all.get(name));
        if (state === undefined) changed.delete(name);
        else changed.set(name, state);
        return changed;
      });
    for (const [name, leave] of joined.current) {
      if (names.includes(name)) continue;
      leave();
      joined.current.delete(name);
      set(name, () => undefined);
    }
    for (const name of names) {
      if (joined.current.has(name)) continue;
      const group = readSubscription(name);
      if (group === undefined) {
        set(name, () => ({ status: "refused", reason: t`the address must name it as name:group` }));
        continue;
      }
      set(name, () => ({ status: "joining", reason: null }));
      const leave = live.subscribe(group.stream, group.group, {
        onStatus: (status, reason) =>
          set(name, (before) => ({
            status: status === "joining" && before?.status !== "joining" && before !== undefined ? "rejoining" : status,
            reason,
          })),
      });
      joined.current.set(name, leave);
    }
  }, [names, hasWatched]);
  useEffect(
    () => () => {
      for (const leave of joined.current.values()) leave();
      joined.current.clear();
    },
    [],
  );
  return states;
}
