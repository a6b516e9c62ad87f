import type { IncomingMessage, ServerResponse } from "node:http";

const MAX_SESSIONS = 32;
/** Maximum idle time of a session, in milliseconds. A client that returns later must start a new session. */
const IDLE_TIMEOUT_MS = 60 * 60_000;

export interface McpSession {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

interface Usage {
  openRequests: number;
  lastUsedMs: number;
}

/**
 * The sessions of all clients. A session with an open request is never closed here. If there are too many sessions, the
 * least recently used idle session is closed.
 */
export class McpSessions {
  readonly #uses = new Map<McpSession, Usage>();
  readonly #byId = new Map<string, McpSession>();
  readonly #nowMs: () => number;
  readonly #onProblem: (error: unknown) => void;

  constructor({ nowMs, onProblem }: { readonly nowMs: () => number; readonly onProblem: (error: unknown) => void }) {
    this.#nowMs = nowMs;
    this.#onProblem = onProblem;
  }

  withId(id: string): McpSession | undefined {
    return this.#byId.get(id);
  }

  /** Registers the session under its id. */
  register(session: McpSession, id: string): void {
    this.#byId.set(id, session);
  }

  /** Frees a place for a new session. Returns false if all sessions have open requests. */
  makeRoom(): boolean {
    if (this.#uses.size < MAX_SESSIONS) return true;
    const [oldest] = this.#idle();
    if (oldest === undefined) return false;
    this.#end(oldest);
    return true;
  }

  /** Passes a request to a new or known session. The session counts as busy until the response is closed. */
  async handle(session: McpSession, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const usage = this.#uses.get(session) ?? { openRequests: 0, lastUsedMs: 0 };
    this.#uses.set(session, usage);
    usage.openRequests += 1;
    response.once("close", () => {
      usage.openRequests -= 1;
      usage.lastUsedMs = this.#nowMs();
    });
    await session.handle(request, response);
  }

  /** Closes sessions that have been idle too long. Must be called regularly. */
  endIdle(): void {
    const latestMs = this.#nowMs() - IDLE_TIMEOUT_MS;
    for (const session of this.#idle()) if ((this.#uses.get(session)?.lastUsedMs ?? 0) <= latestMs) this.#end(session);
  }

  forget(session: McpSession): void {
    this.#uses.delete(session);
    for (const [id, known] of this.#byId) if (known === session) this.#byId.delete(id);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#uses.keys()].map((session) => session.close()));
  }

  /** Returns sessions without an open request, least recently used first. */
  #idle(): readonly McpSession[] {
    const idle = [...this.#uses].filter(([, { openRequests }]) => openRequests === 0);
    return idle.sort(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs).map(([session]) => session);
  }

  #end(session: McpSession): void {
    this.forget(session);
    session.close().catch(this.#onProblem);
  }
}
