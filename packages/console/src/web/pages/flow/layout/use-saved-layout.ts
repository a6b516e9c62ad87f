import { useCallback, useEffect, useMemo, useRef, useState } from "react";
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
  /** What is saved could not be read. */
  | { readonly kind: "unread"; readonly error: Error }
  | { readonly kind: "failed"; readonly error: Error }
  /** Nothing may be changed just now, and why; saved as soon as it may. */
  | { readonly kind: "refused"; readonly reason: string };

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

/** One flow's layout between its loading and the next. */
interface Session {
  readonly key: string;
  /** The version that moves here are made on; 0 where nothing is saved. */
  version: number;
  /** Not saved yet. */
  pending: Places | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  isSaving: boolean;
  readonly tell: (state: SaveState) => void;
}

/**
 * Saves what is pending, one save after the other: each names the version that it was made on, so that two browsers do not overwrite each other unasked, and
 * one browser's own saves must not seem to be two.
 */
async function write(session: Session): Promise<void> {
  clearTimeout(session.timer);
  session.timer = undefined;
  if (session.isSaving) return;
  session.isSaving = true;
  try {
    while (session.pending !== undefined) {
      session.tell({ kind: "saving" });
      const places = session.pending;
      const value = writePlaces(places);
      const answer = await call<{ readonly version: number }>("state::set", { scope: SCOPE, key: session.key, value, if_version: session.version });
      session.version = answer.version;
      if (session.pending === places) {
        session.pending = undefined;
        session.tell({ kind: "saved", atMs: savedAt(value) });
      }
    }
  } catch (error) {
    session.tell(error instanceof ApiFailure && error.code === "state_conflict" ? { kind: "conflict" } : { kind: "failed", error: error as Error });
  } finally {
    session.isSaving = false;
  }
}

/** The layout of one flow in the engine's state; saved half a second after the last move. */
export function useSavedLayout(flow: string, refusal: string | undefined): SavedLayout {
  const key = `flow:${flow}`;
  const [loaded, setLoaded] = useState<Places>();
  const [state, setState] = useState<SaveState>({ kind: "loading" });
  const [round, setRound] = useState(0);
  const current = useRef<Session>(undefined);
  /** Another object asks for another look. */
  const asked = useMemo(() => ({ key, round }), [key, round]);
  useEffect(() => {
    const gone = new AbortController();
    const tell = (next: SaveState): void => {
      if (!gone.signal.aborted) setState(next);
    };
    const session: Session = { key: asked.key, version: 0, pending: undefined, timer: undefined, isSaving: false, tell };
    current.current = session;
    setLoaded(undefined);
    setState({ kind: "loading" });
    call<Entry | null>("state::get_entry", { scope: SCOPE, key: asked.key }, { signal: gone.signal }).then(
      (entry) => {
        session.version = entry?.version ?? 0;
        setLoaded(readPlaces(entry?.value));
        tell({ kind: "saved", atMs: savedAt(entry?.value) });
      },
      (error: Error) => {
        if (gone.signal.aborted) return;
        setLoaded(new Map());
        tell({ kind: "unread", error });
      },
    );
    return () => {
      gone.abort();
      // Who moves a node and goes on to another page at once means it.
      if (session.timer !== undefined) void write(session);
    };
  }, [asked]);

  const save = useCallback(
    (places: Places): void => {
      const session = current.current;
      if (session === undefined) return;
      session.pending = places;
      clearTimeout(session.timer);
      session.timer = undefined;
      if (refusal !== undefined) {
        session.tell({ kind: "refused", reason: refusal });
        return;
      }
      session.tell({ kind: "waiting" });
      session.timer = setTimeout(() => void write(session), WAIT_MS);
    },
    [refusal],
  );
  useEffect(() => {
    const session = current.current;
    if (refusal === undefined && state.kind === "refused" && session !== undefined) void write(session);
  }, [refusal, state.kind]);

  const reload = (): void => {
    forget(current.current);
    setRound((before) => before + 1);
  };
  return {
    ...{ loaded, state, save, reload },
    saveAnyway: () => {
      const session = current.current;
      // What failed was no save.
      if (session?.pending === undefined) {
        reload();
        return;
      }
      session.tell({ kind: "saving" });
      call<Entry | null>("state::get_entry", { scope: SCOPE, key }).then(
        (entry) => {
          session.version = entry?.version ?? 0;
          return write(session);
        },
        (error: Error) => session.tell({ kind: "failed", error }),
      );
    },
    reset: async () => {
      forget(current.current);
      try {
        await call("state::delete", { scope: SCOPE, key });
        setRound((before) => before + 1);
      } catch (error) {
        setState({ kind: "failed", error: error as Error });
      }
    },
  };
}

function forget(session: Session | undefined): void {
  if (session === undefined) return;
  clearTimeout(session.timer);
  session.timer = undefined;
  session.pending = undefined;
}

function savedAt(value: unknown): number | undefined {
  const { saved_at_ms: at } = (typeof value === "object" && value !== null ? value : {}) as { readonly saved_at_ms?: unknown };
  return typeof at === "number" ? at : undefined;
}
