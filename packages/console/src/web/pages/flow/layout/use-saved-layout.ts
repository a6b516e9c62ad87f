import { useCallback, useEffect, useRef, useState } from "react";
import { ApiFailure, call } from "../../../lib/api.ts";
import { type Places, readPlaces, writePlaces } from "./place.ts";

const SCOPE = "__console";
/** After the last move, in milliseconds. */
const WAIT_MS = 500;

interface Entry {
  readonly value: unknown;
  readonly version: number;
}

export type SaveState =
  | { readonly kind: "loading" }
  /** `atMs`: when it was saved last; undefined where it never was. */
  | { readonly kind: "saved"; readonly atMs: number | undefined }
  | { readonly kind: "waiting" | "saving" }
  /** Somebody else saved meanwhile. */
  | { readonly kind: "conflict" }
  | { readonly kind: "failed"; readonly error: Error };

export interface SavedLayout {
  /** What was saved, as it was loaded; undefined until that is known. Another object each time that it is loaded. */
  readonly loaded: Places | undefined;
  readonly state: SaveState;
  readonly save: (places: Places) => void;
  /** Saves over what somebody else saved, or tries again what failed. */
  readonly saveAnyway: () => void;
  /** Takes what is saved, and forgets the moves made here. */
  readonly reload: () => void;
  /** Deletes what is saved. */
  readonly reset: () => Promise<void>;
}

/** The layout of one flow in the engine's state. A save names the version that it was made on, so that two browsers do not overwrite each other unasked. */
export function useSavedLayout(flow: string, refusal: string | undefined): SavedLayout {
  const key = `flow:${flow}`;
  const [loaded, setLoaded] = useState<Places>();
  const [state, setState] = useState<SaveState>({ kind: "loading" });
  const [round, setRound] = useState(0);
  const version = useRef(0);
  const pending = useRef<Places>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks for another look
  useEffect(() => {
    const gone = new AbortController();
    setLoaded(undefined);
    setState({ kind: "loading" });
    pending.current = undefined;
    call<Entry | null>("state::get_entry", { scope: SCOPE, key }, { signal: gone.signal }).then(
      (entry) => {
        version.current = entry?.version ?? 0;
        setLoaded(readPlaces(entry?.value));
        setState({ kind: "saved", atMs: savedAt(entry?.value) });
      },
      (error: Error) => {
        if (gone.signal.aborted) return;
        setLoaded(new Map());
        setState({ kind: "failed", error });
      },
    );
    return () => {
      gone.abort();
      clearTimeout(timer.current);
    };
  }, [key, round]);

  const write = useCallback(async (): Promise<void> => {
    const places = pending.current;
    if (places === undefined) return;
    setState({ kind: "saving" });
    const value = writePlaces(places);
    try {
      const answer = await call<{ readonly version: number }>("state::set", { scope: SCOPE, key, value, if_version: version.current });
      version.current = answer.version;
      if (pending.current === places) setState({ kind: "saved", atMs: savedAt(value) });
    } catch (error) {
      setState(error instanceof ApiFailure && error.code === "state_conflict" ? { kind: "conflict" } : { kind: "failed", error: error as Error });
    }
  }, [key]);

  const save = useCallback(
    (places: Places): void => {
      pending.current = places;
      clearTimeout(timer.current);
      if (refusal !== undefined) {
        setState({ kind: "failed", error: new Error(refusal) });
        return;
      }
      setState({ kind: "waiting" });
      timer.current = setTimeout(() => void write(), WAIT_MS);
    },
    [write, refusal],
  );

  return {
    ...{ loaded, state, save },
    reload: () => setRound((before) => before + 1),
    saveAnyway: () => {
      call<Entry | null>("state::get_entry", { scope: SCOPE, key }).then(
        (entry) => {
          version.current = entry?.version ?? 0;
          return write();
        },
        (error: Error) => setState({ kind: "failed", error }),
      );
    },
    reset: async () => {
      clearTimeout(timer.current);
      try {
        await call("state::delete", { scope: SCOPE, key });
        setRound((before) => before + 1);
      } catch (error) {
        setState({ kind: "failed", error: error as Error });
      }
    },
  };
}

function savedAt(value: unknown): number | undefined {
  const { saved_at_ms: at } = (typeof value === "object" && value !== null ? value : {}) as { readonly saved_at_ms?: unknown };
  return typeof at === "number" ? at : undefined;
}
