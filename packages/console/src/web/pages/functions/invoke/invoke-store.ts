import { useSyncExternalStore } from "react";
import { ApiFailure, type InvokeAnswer, invoke } from "../../../lib/api.ts";
import { type Draft, EMPTY_DRAFT, invokeBody } from "./request.ts";

/** A call that was made on this page. It stays with its function when the user selects another function. */
export interface Run {
  readonly draft: Draft;
  /** Id of the invocation whose input was sent again. */
  readonly replayOf: string | undefined;
  readonly startedAtMs: number;
  readonly state: "running" | "answered" | "cancelled" | "failed";
  readonly durationMs: number | undefined;
  readonly answer: InvokeAnswer | undefined;
  /** Reason why there is no response. */
  readonly failure: Error | undefined;
}

interface Session {
  readonly draft: Draft;
  /** True if the user has typed an input. It is then no longer replaced by the schema's proposal. */
  readonly isTyped: boolean;
  /** Id of the invocation whose input was loaded for the next run. */
  readonly replayOf: string | undefined;
  readonly run: Run | undefined;
}

const EMPTY_SESSION: Session = { draft: EMPTY_DRAFT, isTyped: false, replayOf: undefined, run: undefined };
/**
 * Maximum number of sessions. If there are more, the least recently changed session without a call in flight is
 * evicted.
 */
const MAX_SESSIONS = 50;

/** Sends a body and resolves with the response. */
type Send = (body: string, signal: AbortSignal) => Promise<InvokeAnswer>;

/** For each function, the input that was typed and the last call. They are stored while the page is open. */
export class InvokeStore {
  readonly #send: Send;
  readonly #sessions = new Map<string, Session>();
  readonly #aborts = new Map<string, AbortController>();
  readonly #listeners = new Set<() => void>();

  constructor(send: Send) {
    this.#send = send;
  }

  readonly get = (functionId: string): Session => this.#sessions.get(functionId) ?? EMPTY_SESSION;

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /** Sets the schema's proposal as the input, unless the user has typed one. */
  seed(functionId: string, payload: string): void {
    const session = this.get(functionId);
    if (!session.isTyped && session.draft.payload !== payload)
      this.#set(functionId, { ...session, draft: { ...session.draft, payload } });
  }

  change(functionId: string, change: Partial<Draft>): void {
    const session = this.get(functionId);
    const isTyped = session.isTyped || (change.payload !== undefined && change.payload !== session.draft.payload);
    this.#set(functionId, { ...session, draft: { ...session.draft, ...change }, isTyped });
  }

  /** Fills the editor with the input of an earlier invocation, for a replay. */
  load(functionId: string, payload: string, replayOf: string): void {
    this.change(functionId, { ...EMPTY_DRAFT, payload });
    this.#set(functionId, { ...this.get(functionId), replayOf });
  }

  /** Calls the function with the draft. Does nothing while a call of the same function is in flight. */
  async run(functionId: string, draft: Draft = this.get(functionId).draft): Promise<void> {
    if (this.#aborts.has(functionId)) return;
    const abort = new AbortController();
    this.#aborts.set(functionId, abort);
    const startedAtMs = Date.now();
    const startedAt = performance.now();
    const started: Run = {
      draft,
      replayOf: this.get(functionId).replayOf,
      startedAtMs,
      state: "running",
      durationMs: undefined,
      answer: undefined,
      failure: undefined,
    };
    this.#setRun(functionId, started);
    let ended: Partial<Run>;
    try {
      ended = { state: "answered", answer: await this.#send(invokeBody(functionId, draft), abort.signal) };
    } catch (error) {
      ended = abort.signal.aborted ? { state: "cancelled" } : { state: "failed", failure: asError(error) };
    }
    this.#aborts.delete(functionId);
    this.#setRun(functionId, { ...started, ...ended, durationMs: performance.now() - startedAt });
  }

  cancel(functionId: string): void {
    this.#aborts.get(functionId)?.abort();
  }

  #setRun(functionId: string, run: Run): void {
    // `replayOf` is removed, because only the first run after `load` is a replay.
    this.#set(functionId, { ...this.get(functionId), run, replayOf: undefined });
  }

  #set(functionId: string, session: Session): void {
    this.#sessions.delete(functionId);
    this.#sessions.set(functionId, session);
    for (const id of this.#sessions.keys()) {
      if (this.#sessions.size <= MAX_SESSIONS) break;
      if (!this.#aborts.has(id) && id !== functionId) this.#sessions.delete(id);
    }
    for (const listener of this.#listeners) listener();
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new ApiFailure("invoke", { code: "internal", message: String(thrown) });
}

export const invocations = new InvokeStore(invoke);

export function useInvokeSession(functionId: string): Session {
  return useSyncExternalStore(invocations.listen, () => invocations.get(functionId));
}
