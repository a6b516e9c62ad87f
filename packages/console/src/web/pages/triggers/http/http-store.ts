import { useSyncExternalStore } from "react";
import type { HttpTestResult } from "../../../../contract/api.ts";
import { sendHttp } from "../../../lib/api.ts";
import { type HttpDraft, type HttpRequest, initialDraft } from "./http-request.ts";

export interface Exchange {
  readonly id: number;
  readonly request: HttpRequest;
  /** Contents of the tester's form when the request was sent. */
  readonly draft: HttpDraft;
  readonly startedAtMs: number;
  /** Id of the trace that the request begins. Undefined if a header of the user names another trace. */
  readonly traceId: string | undefined;
  readonly state: "running" | "answered" | "cancelled" | "failed";
  readonly durationMs: number | undefined;
  readonly result: HttpTestResult | undefined;
  readonly failure: Error | undefined;
}

interface Session {
  readonly draft: HttpDraft;
  /** Exchanges, the newest first. */
  readonly exchanges: readonly Exchange[];
}

const MAX_EXCHANGES = 20;
const MAX_SESSIONS = 50;
/** Maximum length of the body in an older exchange, in characters. Longer bodies are dropped. */
const MAX_OLD_BODY = 256 * 1024;

/** Drafts and exchanges by trigger. They are kept until the page is reloaded. */
class HttpStore {
  readonly #sessions = new Map<string, Session>();
  readonly #aborts = new Map<string, AbortController>();
  readonly #listeners = new Set<() => void>();
  #lastId = 0;

  readonly get = (triggerId: string): Session | undefined => this.#sessions.get(triggerId);

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  open(triggerId: string, method: string): void {
    if (!this.#sessions.has(triggerId)) this.#set(triggerId, { draft: initialDraft(method), exchanges: [] });
  }

  change(triggerId: string, change: Partial<HttpDraft>): void {
    const session = this.#sessions.get(triggerId);
    if (session !== undefined) this.#set(triggerId, { ...session, draft: { ...session.draft, ...change } });
  }

  async send(triggerId: string, request: HttpRequest): Promise<void> {
    const session = this.#sessions.get(triggerId);
    if (session === undefined || this.#aborts.has(triggerId)) return;
    const abort = new AbortController();
    this.#aborts.set(triggerId, abort);
    const from = performance.now();
    const hasTrace = request.headers.some(([name]) => name.toLowerCase() === "traceparent");
    const traceId = randomHex(16);
    const traced = hasTrace
      ? request
      : { ...request, headers: [...request.headers, ["traceparent", `00-${traceId}-${randomHex(8)}-01`]] };
    const started: Exchange = {
      id: ++this.#lastId,
      request,
      draft: session.draft,
      startedAtMs: Date.now(),
      traceId: hasTrace ? undefined : traceId,
      state: "running",
      durationMs: undefined,
      result: undefined,
      failure: undefined,
    };
    this.#put(triggerId, started);
    let ended: Partial<Exchange>;
    try {
      const result = await sendHttp({ ...traced }, abort.signal);
      ended = { state: "answered", result, durationMs: result.duration_ms };
    } catch (error) {
      ended = abort.signal.aborted
        ? { state: "cancelled" }
        : { state: "failed", failure: error instanceof Error ? error : new Error(String(error)) };
    }
    this.#aborts.delete(triggerId);
    this.#put(triggerId, { ...started, durationMs: performance.now() - from, ...ended });
  }

  cancel(triggerId: string): void {
    this.#aborts.get(triggerId)?.abort();
  }

  #put(triggerId: string, exchange: Exchange): void {
    const session = this.#sessions.get(triggerId);
    if (session === undefined) return;
    const others = session.exchanges.filter(({ id }) => id !== exchange.id).map(withoutLargeBody);
    this.#set(triggerId, { ...session, exchanges: [exchange, ...others].slice(0, MAX_EXCHANGES) });
  }

  #set(triggerId: string, session: Session): void {
    this.#sessions.delete(triggerId);
    this.#sessions.set(triggerId, session);
    for (const id of this.#sessions.keys()) {
      if (this.#sessions.size <= MAX_SESSIONS) break;
      if (!this.#aborts.has(id) && id !== triggerId) this.#sessions.delete(id);
    }
    for (const listener of this.#listeners) listener();
  }
}

function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
}

function withoutLargeBody(exchange: Exchange): Exchange {
  const { result } = exchange;
  if (result === undefined) return exchange;
  const size = "text" in result.body ? result.body.text.length : result.body.base64.length;
  return size <= MAX_OLD_BODY ? exchange : { ...exchange, result: { ...result, body: { text: "" }, truncated: true } };
}

export const httpTests = new HttpStore();

export function useHttpSession(triggerId: string): Session | undefined {
  return useSyncExternalStore(httpTests.listen, () => httpTests.get(triggerId));
}
