import type { Session } from "./session.ts";

/** The open worker connections. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();

  get size(): number {
    return this.#sessions.size;
  }

  add(session: Session): void {
    this.#sessions.set(session.workerId, session);
  }

  remove(session: Session): void {
    if (this.#sessions.get(session.workerId) === session) this.#sessions.delete(session.workerId);
  }

  byId(workerId: string): Session | undefined {
    return this.#sessions.get(workerId);
  }

  /** Returns the sessions without a copy, so the caller must not end a session while iterating. */
  values(): Iterable<Session> {
    return this.#sessions.values();
  }

  all(): Session[] {
    return [...this.#sessions.values()];
  }
}
