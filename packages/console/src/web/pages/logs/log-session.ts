import { call } from "../../lib/api.ts";
import { live } from "../../lib/live-connection.ts";
import type { Log } from "./log.ts";
import { LogBuffer, MAX_LOGS } from "./log-buffer.ts";
import { logMatcher } from "./log-match.ts";
import { type LogQuery, windowMembers } from "./use-log-query.ts";

/** Entries of the first page, and of those after it, which are for who scrolls far. */
const FIRST_PAGE = 300;
const NEXT_PAGE = 2_000;

interface ListAnswer {
  readonly logs: readonly Log[];
  readonly total: number;
  readonly total_partial?: true;
  readonly cursor: string | null;
  readonly as_of: number;
  readonly disabled?: true;
  readonly message?: string;
}

export interface SessionState {
  /** The first answer is there. */
  readonly isLoaded: boolean;
  readonly isLoadingMore: boolean;
  readonly error: Error | undefined;
  /** Of all matches when they were asked for; live ones have come since. */
  readonly total: number | undefined;
  readonly hasMore: boolean;
  /** Why no entries are kept. */
  readonly disabled: string | undefined;
  /** Entries that the engine left out of the live view. */
  readonly missed: number;
  readonly tail: "joining" | "live" | "refused";
}

/** The entries of one query: what is kept, page by page, and what comes live. */
export class LogSession {
  readonly buffer = new LogBuffer();
  readonly #query: LogQuery;
  #state: SessionState = {
    isLoaded: false,
    isLoadingMore: false,
    error: undefined,
    total: undefined,
    hasMore: false,
    disabled: undefined,
    missed: 0,
    tail: "joining",
  };
  #cursor: string | null = null;
  readonly #listeners = new Set<() => void>();
  readonly #gone = new AbortController();
  #leave: (() => void) | undefined;

  constructor(query: LogQuery) {
    this.#query = query;
  }

  readonly getState = (): SessionState => this.#state;

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /** Joins the live view first: what comes while the rest is asked for is in both, and shown once. */
  start(): () => void {
    if (this.#query.isOpen) this.#join();
    void this.load();
    return () => {
      this.#leave?.();
      this.#gone.abort();
    };
  }

  #join(): void {
    const take = (logs: readonly Log[]): void => {
      const matches = logMatcher(this.#query.filter, this.#query.window(Date.now()));
      const matching = logs.filter(matches);
      if (matching.length > 0) this.buffer.addLive(matching);
    };
    this.#leave = live.subscribe("svc.logs", "all", {
      // A sync holds the latest entries of all; it fills the gap of a connection that was lost.
      onSync: (data) => take(data as readonly Log[]),
      onEvent: (event) => {
        const { logs, dropped } = (event.data as { readonly data: { readonly logs: readonly Log[]; readonly dropped: number } }).data;
        if (dropped > 0) this.#set({ missed: this.#state.missed + dropped });
        take(logs);
      },
      onGap: (_reason, dropped) => this.#set({ missed: this.#state.missed + Math.max(1, dropped) }),
      onStatus: (tail) => this.#set({ tail }),
    });
  }

  /** The first page, or again from the newest on. */
  async load(): Promise<void> {
    try {
      const answer = await this.#ask(FIRST_PAGE, undefined);
      this.buffer.addHistory(answer.logs);
      this.#cursor = answer.cursor;
      const disabled = answer.disabled === true ? (answer.message ?? "no log entries are kept") : undefined;
      this.#set({ isLoaded: true, error: undefined, total: answer.total, hasMore: answer.cursor !== null, disabled });
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  /** The next page of older ones. */
  async loadMore(): Promise<void> {
    if (this.#cursor === null || this.#state.isLoadingMore || this.buffer.size >= MAX_LOGS) return;
    this.#set({ isLoadingMore: true });
    try {
      const answer = await this.#ask(NEXT_PAGE, this.#cursor);
      this.buffer.addHistory(answer.logs);
      this.#cursor = answer.cursor;
      this.#set({ isLoadingMore: false, error: undefined, hasMore: answer.cursor !== null && this.buffer.size < MAX_LOGS });
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  #ask(limit: number, cursor: string | undefined): Promise<ListAnswer> {
    const payload = { ...this.#query.filter, ...windowMembers(this.#query.window(Date.now())), limit, ...(cursor === undefined ? {} : { cursor }) };
    return call<ListAnswer>("engine::logs::list", payload, { signal: this.#gone.signal });
  }

  #failed(error: Error): void {
    if (!this.#gone.signal.aborted) this.#set({ isLoadingMore: false, error });
  }

  #set(change: Partial<SessionState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
