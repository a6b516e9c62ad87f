import { createHash, randomBytes } from "node:crypto";
import { CallError } from "@svc/protocol";
import type { EngineClient } from "./engine-client.ts";

/** A session that nobody used for so long ends, in milliseconds. */
export const SESSION_IDLE_MS = 12 * 60 * 60 * 1000;
/** How often sessions are looked through for those that have ended. */
const SWEEP_MS = 60_000;
const MAX_SESSIONS = 100;
/** Failed logins within this time, and how many of them are allowed. */
const FAILURE_WINDOW_MS = 60_000;
const MAX_FAILURES = 10;
/** Logins whose token the engine is asked about at the same time. */
const MAX_CHECKS = 4;
const NOTE_EVERY_MS = 1_000;

/** Somebody who logged in; held by one tab of a browser. */
export interface Session {
  readonly client: EngineClient;
  /** Runs `end` when the session ends; the returned function cancels that. */
  onEnd(end: () => void): () => void;
  /** The session was used: it goes on. */
  touch(): void;
}

interface Held extends Session {
  readonly shared: Shared;
  readonly endings: Set<() => void>;
  usedAtMs: number;
}

/** Sessions of one token share their connections to the engine. */
interface Shared {
  readonly key: string;
  readonly client: EngineClient;
  readonly sessions: Set<string>;
}

export interface SessionsParts {
  /** Connects to the engine with a token. */
  readonly connect: (token: string) => EngineClient;
  readonly now: () => number;
  /** Writes a line for whoever runs the console. */
  readonly note: (line: string) => void;
}

/** Who is logged in to the console. Everything is in memory: when the console is started again, everybody logs in again. */
export class Sessions {
  readonly #parts: SessionsParts;
  readonly #held = new Map<string, Held>();
  readonly #shared = new Map<string, Shared>();
  readonly #timer: NodeJS.Timeout;
  #failures: number[] = [];
  #checks = 0;
  #notedAtMs = Number.NEGATIVE_INFINITY;
  #unnoted = 0;

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS);
    this.#timer.unref();
  }

  /**
   * Has the engine check a token. Returns the token of a new session, by which the page speaks from then on. Rejects with CallError: `AUTH_ERROR` when the
   * engine refuses the token, `disconnected` when it cannot be asked, `too_many_attempts`, `overloaded`.
   */
  async login(token: string, from: string): Promise<string> {
    this.#failures = this.#failures.filter((atMs) => this.#parts.now() - atMs < FAILURE_WINDOW_MS);
    if (this.#failures.length + this.#checks >= MAX_FAILURES) {
      throw new TooManyAttempts(`${MAX_FAILURES} logins failed within a minute; try again in ${FAILURE_WINDOW_MS / 1000} s`);
    }
    if (this.#checks >= MAX_CHECKS) throw new CallError("overloaded", "other logins are being checked; try again");
    this.#sweep();
    if (this.#held.size >= MAX_SESSIONS) throw new CallError("overloaded", `${MAX_SESSIONS} sessions are open already; log one out`);
    // Not the token itself: keys of a map are compared in a time that depends on them.
    const key = createHash("sha256").update(token).digest("base64url");
    const known = this.#shared.get(key);
    if (known !== undefined && known.client.link.port("bridge").state === "connected") return this.#open(known);
    this.#checks++;
    const client = this.#parts.connect(token);
    try {
      await client.link.admitted();
    } catch (error) {
      await client.close();
      if (CallError.is(error) && error.code === "AUTH_ERROR") this.#failed(from);
      throw error;
    } finally {
      this.#checks--;
    }
    const other = this.#shared.get(key);
    if (other !== undefined) {
      void client.close();
      return this.#open(other);
    }
    const shared: Shared = { key, client, sessions: new Set() };
    this.#shared.set(key, shared);
    // The token was withdrawn: whoever logged in with it has no rights any more.
    client.link.onState(() => {
      if (client.link.isRefused) for (const session of [...shared.sessions]) this.end(session);
    });
    return this.#open(shared);
  }

  /** The session of a token; undefined when there is none or it has ended. */
  find(token: string | undefined): Session | undefined {
    const held = token === undefined ? undefined : this.#held.get(keyOf(token));
    if (held === undefined || !this.#hasEnded(held)) return held;
    this.end(keyOf(token ?? ""));
    return undefined;
  }

  logout(token: string | undefined): void {
    if (token !== undefined) this.end(keyOf(token));
  }

  /** Ends a session by its key. Does nothing when it has ended. */
  end(key: string): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#held.delete(key);
    for (const ending of held.endings) ending();
    const { shared } = held;
    shared.sessions.delete(key);
    if (shared.sessions.size > 0) return;
    this.#shared.delete(shared.key);
    void shared.client.close();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const clients = [...this.#shared.values()].map(({ client }) => client);
    for (const key of [...this.#held.keys()]) this.end(key);
    await Promise.all(clients.map((client) => client.close()));
  }

  #open(shared: Shared): string {
    const token = randomBytes(32).toString("base64url");
    const { now } = this.#parts;
    const endings = new Set<() => void>();
    const held: Held = {
      client: shared.client,
      shared,
      endings,
      usedAtMs: now(),
      onEnd(end) {
        endings.add(end);
        return () => endings.delete(end);
      },
      touch() {
        held.usedAtMs = now();
      },
    };
    this.#held.set(keyOf(token), held);
    shared.sessions.add(keyOf(token));
    return token;
  }

  #hasEnded({ usedAtMs }: Held): boolean {
    return this.#parts.now() - usedAtMs >= SESSION_IDLE_MS;
  }

  #sweep(): void {
    for (const [key, held] of [...this.#held]) if (this.#hasEnded(held)) this.end(key);
  }

  /** One line a second at most, whoever tries how often. */
  #failed(from: string): void {
    const nowMs = this.#parts.now();
    this.#failures.push(nowMs);
    if (nowMs - this.#notedAtMs < NOTE_EVERY_MS) {
      this.#unnoted++;
      return;
    }
    const more = this.#unnoted === 0 ? "" : ` (and ${this.#unnoted} more before)`;
    this.#notedAtMs = nowMs;
    this.#unnoted = 0;
    this.#parts.note(`a login failed: the engine does not accept the token, from ${from}${more}`);
  }
}

/** Too many logins failed within a minute. */
export class TooManyAttempts extends Error {
  override readonly name = "TooManyAttempts";
  readonly retryAfterSeconds = FAILURE_WINDOW_MS / 1000;
}

/** Tokens are looked up by their hash: comparing takes a time that tells nothing about the token itself. */
function keyOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
