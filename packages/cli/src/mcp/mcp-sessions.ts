import type { IncomingMessage, ServerResponse } from "node:http";

const MAX_SESSIONS = 32;
/** A client that comes back later is told to begin anew. */
const IDLE_END_MS = 60 * 60_000;

export interface McpSession {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

interface Use {
  openRequests: number;
  lastUsedMs: number;
}

/** The sessions of all clients. One with an open request stays; the others make room, and end, in the order of their last use. */
export class McpSessions {
  readonly #uses = new Map<McpSession, Use>();
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

  /** Known by this id from now on. */
  name(session: McpSession, id: string): void {
    this.#byId.set(id, session);
  }

  /** False when every place is taken by a session with an open request; otherwise there is a free place afterwards. */
  makeRoom(): boolean {
    if (this.#uses.size < MAX_SESSIONS) return true;
    const [oldest] = this.#idle();
    if (oldest === undefined) return false;
    this.#end(oldest);
    return true;
  }

  /** The session, new or known, has a request to answer, until the response is closed. */
  async handle(session: McpSession, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const use = this.#uses.get(session) ?? { openRequests: 0, lastUsedMs: 0 };
    this.#uses.set(session, use);
    use.openRequests += 1;
    response.once("close", () => {
      use.openRequests -= 1;
      use.lastUsedMs = this.#nowMs();
    });
    await session.handle(request, response);
  }

  /** To be called now and then. */
  endIdle(): void {
    const latestMs = this.#nowMs() - IDLE_END_MS;
    for (const session of this.#idle()) if ((this.#uses.get(session)?.lastUsedMs ?? 0) <= latestMs) this.#end(session);
  }

  forget(session: McpSession): void {
    this.#uses.delete(session);
    for (const [id, known] of this.#byId) if (known === session) this.#byId.delete(id);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#uses.keys()].map((session) => session.close()));
  }

  /** Those without an open request, the one that was used longest ago first. */
  #idle(): readonly McpSession[] {
    const idle = [...this.#uses].filter(([, { openRequests }]) => openRequests === 0);
    return idle.sort(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs).map(([session]) => session);
  }

  #end(session: McpSession): void {
    this.forget(session);
    session.close().catch(this.#onProblem);
  }
}
