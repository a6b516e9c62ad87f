import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ApiFailure, call } from "../../../lib/api.ts";
import { type Positions, readPositions, writePositions } from "./positions.ts";

const SCOPE = "__console";
/** Time between the last move and the save, in milliseconds. */
const SAVE_DELAY_MS = 500;

interface Entry {
  readonly value: unknown;
  readonly version: number;
}

export type SaveState =
  | { readonly kind: "loading" }
  /** `atMs` is the time of the last save. Undefined if there was none. */
  | { readonly kind: "saved"; readonly atMs: number | undefined }
  | { readonly kind: "waiting" | "saving" }
  /** Another browser has saved this layout since it was loaded here. */
  | { readonly kind: "conflict" }
  | { readonly kind: "load-failed"; readonly error: Error }
  | { readonly kind: "save-failed"; readonly error: Error }
  /** Saving is not allowed now; `reason` says why. The layout is saved as soon as saving is allowed. */
  | { readonly kind: "refused"; readonly reason: string };

export interface SavedLayout {
  /** The saved layout. Undefined until it is loaded. Each load sets a new object. */
  readonly loaded: Positions | undefined;
  readonly state: SaveState;
  readonly save: (positions: Positions) => void;
  /** Overwrites the saved layout after a conflict. After a failure, tries again. */
  readonly saveAnyway: () => void;
  /** Loads the saved layout and drops unsaved moves. */
  readonly reload: () => void;
  /** Deletes the saved layout. */
  readonly reset: () => Promise<void>;
}

/** State of the layout of one flow. Each load begins a new session. */
interface Session {
  readonly key: string;
  /** Version of the saved layout; 0 if there is none. */
  version: number;
  /** Positions that are not saved yet. */
  pending: Positions | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  isSaving: boolean;
  readonly report: (state: SaveState) => void;
}

/**
 * Saves the pending positions. Each save contains the version that it replaces, so that two browsers do not overwrite
 * each other's layout. Only one save runs at a time, because two concurrent saves of this browser would look like a
 * conflict.
 */
async function write(session: Session): Promise<void> {
  clearTimeout(session.timer);
  session.timer = undefined;
  if (session.isSaving) return;
  session.isSaving = true;
  try {
    while (session.pending !== undefined) {
      session.report({ kind: "saving" });
      const positions = session.pending;
      const value = writePositions(positions);
      const answer = await call<{ readonly version: number }>("state::set", {
        scope: SCOPE,
        key: session.key,
        value,
        if_version: session.version,
      });
      session.version = answer.version;
      if (session.pending === positions) {
        session.pending = undefined;
        session.report({ kind: "saved", atMs: savedAt(value) });
      }
    }
  } catch (error) {
    session.report(
      error instanceof ApiFailure && error.code === "state_conflict"
        ? { kind: "conflict" }
        : { kind: "save-failed", error: error as Error },
    );
  } finally {
    session.isSaving = false;
  }
}

/**
 * Returns the layout of one flow, which is stored in the engine's state. It is saved half a second after the last move.
 */
export function useSavedLayout(flow: string, refusal: string | undefined): SavedLayout {
  const key = `flow:${flow}`;
  const [loaded, setLoaded] = useState<Positions>();
  const [state, setState] = useState<SaveState>({ kind: "loading" });
  const [loads, setLoads] = useState(0);
  const current = useRef<Session>(undefined);
  /** A new object causes a load. */
  const request = useMemo(() => ({ key, loads }), [key, loads]);
  useEffect(() => {
    const abort = new AbortController();
    const report = (next: SaveState): void => {
      if (!abort.signal.aborted) setState(next);
    };
    const session: Session = {
      key: request.key,
      version: 0,
      pending: undefined,
      timer: undefined,
      isSaving: false,
      report,
    };
    current.current = session;
    setLoaded(undefined);
    setState({ kind: "loading" });
    call<Entry | null>("state::get_entry", { scope: SCOPE, key: request.key }, { signal: abort.signal }).then(
      (entry) => {
        session.version = entry?.version ?? 0;
        setLoaded(readPositions(entry?.value));
        report({ kind: "saved", atMs: savedAt(entry?.value) });
      },
      (error: Error) => {
        if (abort.signal.aborted) return;
        setLoaded(new Map());
        report({ kind: "load-failed", error });
      },
    );
    return () => {
      abort.abort();
      // If the user moved a node just before leaving the page, the move is saved now.
      if (session.timer !== undefined) void write(session);
    };
  }, [request]);

  const save = useCallback(
    (positions: Positions): void => {
      const session = current.current;
      if (session === undefined) return;
      session.pending = positions;
      clearTimeout(session.timer);
      session.timer = undefined;
      if (refusal !== undefined) {
        session.report({ kind: "refused", reason: refusal });
        return;
      }
      session.report({ kind: "waiting" });
      session.timer = setTimeout(() => void write(session), SAVE_DELAY_MS);
    },
    [refusal],
  );
  useEffect(() => {
    const session = current.current;
    if (refusal === undefined && state.kind === "refused" && session !== undefined) void write(session);
  }, [refusal, state.kind]);

  const reload = (): void => {
    dropPending(current.current);
    setLoads((before) => before + 1);
  };
  return {
    ...{ loaded, state, save, reload },
    saveAnyway: () => {
      const session = current.current;
      // If there are no pending positions, it was a reset that failed, and not a save.
      if (session?.pending === undefined) {
        reload();
        return;
      }
      session.report({ kind: "saving" });
      call<Entry | null>("state::get_entry", { scope: SCOPE, key }).then(
        (entry) => {
          session.version = entry?.version ?? 0;
          return write(session);
        },
        (error: Error) => session.report({ kind: "save-failed", error }),
      );
    },
    reset: async () => {
      dropPending(current.current);
      try {
        await call("state::delete", { scope: SCOPE, key });
        setLoads((before) => before + 1);
      } catch (error) {
        setState({ kind: "save-failed", error: error as Error });
      }
    },
  };
}

function dropPending(session: Session | undefined): void {
  if (session === undefined) return;
  clearTimeout(session.timer);
  session.timer = undefined;
  session.pending = undefined;
}

function savedAt(value: unknown): number | undefined {
  const { saved_at_ms: at } = (typeof value === "object" && value !== null ? value : {}) as {
    readonly saved_at_ms?: unknown;
  };
  return typeof at === "number" ? at : undefined;
}
