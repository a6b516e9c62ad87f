import { t } from "../../labels/translate.ts";
import { call } from "../../lib/api.ts";
import { live } from "../../lib/live-connection.ts";
import { pollWhileVisible } from "../../lib/poll-delay.ts";
import { isOfSeveral, type MergedFrom } from "../../model/trace-types.ts";
import type { Log } from "./log.ts";
import { LogBuffer, MAX_LOGS } from "./log-buffer.ts";
import { logMatcher } from "./log-match.ts";
import { type LogQuery, windowMembers } from "./use-log-query.ts";

/** Number of entries on the first page. Later pages are larger, because users who load them scroll far. */
const FIRST_PAGE = 300;
const NEXT_PAGE = 2_000;

interface ListAnswer extends MergedFrom {
  readonly logs: readonly Log[];
  readonly total: number;
  readonly total_partial?: true;
  readonly cursor: string | null;
  readonly as_of: number;
  readonly disabled?: true;
  readonly message?: string;
}

/**
 * Interval at which new entries of the cluster's other engines are fetched, in milliseconds. They are fetched because
 * the stream has only the entries of one engine.
 */
const POLL_MS = 5_000;

export interface SessionState {
  readonly isLoaded: boolean;
  readonly isLoadingMore: boolean;
  readonly error: Error | undefined;
  /** Number of stored matches when the request was made. Live entries that arrived later are not counted. */
  readonly total: number | undefined;
  readonly hasMore: boolean;
  /** True if older entries are stored but the buffer has no room for them. */
  readonly isFull: boolean;
  /** Reason why the engine stores no entries. Undefined if it stores them. */
  readonly disabled: string | undefined;
  /** Number of entries that the engine dropped from the live stream. */
  readonly missed: number;
  /** Engines of the cluster that the entries are from. */
  readonly from: MergedFrom;
  readonly tail: "joining" | "live" | "refused";
}

/** The entries of one query: stored entries, which are loaded page by page, and live entries. */
export class LogSession {
  readonly buffer = new LogBuffer();
  readonly #query: LogQuery;
  #state: SessionState = {
    isLoaded: false,
    isLoadingMore: false,
    error: undefined,
    total: undefined,
    hasMore: false,
    isFull: false,
    disabled: undefined,
    missed: 0,
    from: {},
    tail: "joining",
  };
  #cursor: string | null = null;
  /**
   * True if older entries were evicted since the last page was loaded. The next page then begins at the oldest entry in
   * the buffer instead of at the cursor.
   */
  #hasEvicted = false;
  readonly #listeners = new Set<() => void>();
  readonly #abort = new AbortController();
  #unsubscribe: (() => void) | undefined;
  #stopPolling: (() => void) | undefined;

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

  /**
   * Starts the session. It subscribes before it loads, so that no entry is missed in between. The buffer removes
   * duplicates.
   */
  start(): () => void {
    if (this.#query.isOpen) this.#subscribe();
    void this.load();
    return () => {
      this.#unsubscribe?.();
      this.#stopPolling?.();
      this.#abort.abort();
    };
  }

  #subscribe(): void {
    const add = (logs: readonly Log[]): void => {
      const matches = logMatcher(this.#query.parsed, this.#query.window(Date.now()));
      const matching = logs.filter(matches);
      if (matching.length === 0) return;
      const { dropped } = this.buffer;
      this.buffer.addLive(matching);
      if (this.buffer.dropped === dropped) return;
      this.#hasEvicted = true;
      if (!this.#state.hasMore) this.#set({ hasMore: true });
    };
    this.#unsubscribe = live.subscribe("svc.logs", "all", {
      // A sync contains the latest entries. They fill the gap that a lost connection left.
      onSync: (data) => add(data as readonly Log[]),
      onEvent: (event) => {
        const { logs, dropped } = (
          event.data as { readonly data: { readonly logs: readonly Log[]; readonly dropped: number } }
        ).data;
        if (dropped > 0) this.#set({ missed: this.#state.missed + dropped });
        add(logs);
      },
      onGap: (_reason, dropped) => this.#set({ missed: this.#state.missed + Math.max(1, dropped) }),
      onStatus: (tail) => this.#set({ tail }),
    });
  }

  /** Loads the first page, or loads it again. */
  async load(): Promise<void> {
    try {
      const answer = await this.#list(FIRST_PAGE, undefined);
      this.buffer.addHistory(answer.logs);
      this.#cursor = answer.cursor;
      const disabled = answer.disabled === true ? (answer.message ?? t`no log entries are stored`) : undefined;
      this.#set({
        ...{ isLoaded: true, error: undefined, total: answer.total, hasMore: answer.cursor !== null, disabled },
        from: answer,
      });
      if (this.#query.isOpen && isOfSeveral(answer) && !this.#abort.signal.aborted)
        this.#stopPolling ??= pollWhileVisible(() => this.#poll(), POLL_MS);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  async #poll(): Promise<void> {
    try {
      const answer = await this.#list(FIRST_PAGE, undefined);
      const isGap =
        answer.cursor !== null && this.buffer.size > 0 && answer.logs.every(({ id }) => !this.buffer.has(id));
      this.buffer.addLive(answer.logs.toReversed());
      this.#set({ from: answer, ...(isGap ? { missed: this.#state.missed + 1 } : {}) });
    } catch {
      // The error is ignored: the next poll follows soon, and the page shows that the connection is lost.
    }
  }

  /** Loads the next page of older entries. */
  async loadMore(): Promise<void> {
    if (!this.#state.hasMore || this.#state.isLoadingMore || this.buffer.size >= MAX_LOGS) return;
    this.#set({ isLoadingMore: true });
    const { oldest } = this.buffer;
    const cutAt = this.#hasEvicted ? oldest : undefined;
    this.#hasEvicted = false;
    try {
      const answer = await this.#list(NEXT_PAGE, cutAt === undefined ? (this.#cursor ?? undefined) : undefined, cutAt);
      this.buffer.addHistory(answer.logs);
      this.#cursor = answer.cursor;
      this.#set({
        isLoadingMore: false,
        error: undefined,
        hasMore: (answer.cursor !== null || this.#hasEvicted) && this.buffer.size < MAX_LOGS,
        isFull: answer.cursor !== null && this.buffer.size >= MAX_LOGS,
      });
    } catch (error) {
      this.#hasEvicted ||= cutAt !== undefined;
      this.#fail(error as Error);
    }
  }

  /** Requests a page. `upTo` is the entry at which the page begins; entries of the same millisecond may be newer. */
  #list(limit: number, cursor: string | undefined, upTo?: Log): Promise<ListAnswer> {
    const payload = {
      ...this.#query.filter,
      ...windowMembers(this.#query.window(Date.now())),
      ...(upTo === undefined ? {} : { end_time: Math.ceil(upTo.timestamp_ms) }),
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    };
    return call<ListAnswer>("engine::logs::list", payload, { signal: this.#abort.signal });
  }

  #fail(error: Error): void {
    if (!this.#abort.signal.aborted) this.#set({ isLoadingMore: false, error });
  }

  #set(change: Partial<SessionState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
