import { createHash, randomBytes } from "node:crypto";
import { CallError } from "@svc-runtime/protocol";
import type { EngineClient } from "./engine-client.ts";
import { LoginLimits } from "./login-limits.ts";

/** Time after which a session without requests expires, in milliseconds. */
export const SESSION_IDLE_MS = 12 * 60 * 60 * 1000;
/** Interval at which expired sessions are removed, in milliseconds. */
const SWEEP_MS = 60_000;
/**
 * Maximum number of open sessions per token. A login beyond this limit or beyond `MAX_SESSIONS` ends an older session.
 */
export const MAX_SESSIONS_OF_TOKEN = 20;
export const MAX_SESSIONS = 100;
/** Maximum number of concurrent checks of tokens that the console does not know. */
const MAX_UNKNOWN_CHECKS = 4;
const MAX_ACCEPTED_TOKENS = 1_000;
const NOTE_EVERY_MS = 1_000;

/** A logged-in user in one browser tab. */
export interface Session {
  readonly client: EngineClient;
  /** Registers `end`, which is called when the session ends. Returns a function that removes it. */
  onEnd(end: () => void): () => void;
  /** Marks the session as used. */
  touch(): void;
}

interface OpenSession extends Session {
  readonly shared: Shared;
  readonly endings: Set<() => void>;
  usedAtMs: number;
}

/** The connections to the engine that all sessions with the same token share. */
interface Shared {
  readonly key: string;
  readonly client: EngineClient;
  readonly sessions: Set<string>;
}

export interface SessionsParts {
  /** Connects to the engine with a token. */
  readonly connect: (token: string) => EngineClient;
  /** The console's own token. Logins with it are not limited, but the engine still checks it. */
  readonly ownToken: string | undefined;
  readonly now: () => number;
  /** Writes a line for the user who runs the console. */
  readonly note: (line: string) => void;
}

/** All sessions of the console. They are stored in memory only, so a restart of the console ends them. */
export class Sessions {
  readonly #parts: SessionsParts;
  readonly #openSessions = new Map<string, OpenSession>();
  readonly #shared = new Map<string, Shared>();
  readonly #timer: NodeJS.Timeout;
  readonly #limits: LoginLimits;
  /**
   * Hashes of the tokens that the engine has accepted, and of the console's own token. Failed logins with other tokens
   * do not prevent logins with these.
   */
  readonly #accepted = new Set<string>();
  /** Checks that are running, by the hash of the token. */
  readonly #checks = new Map<string, Promise<Shared>>();
  #unknownChecks = 0;
  #notedAtMs = Number.NEGATIVE_INFINITY;
  #unnoted = 0;

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    this.#limits = new LoginLimits(parts.now);
    if (parts.ownToken !== undefined) this.#accepted.add(keyOf(parts.ownToken));
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS);
    this.#timer.unref();
  }

  /**
   * Logs in with a token of the engine, from an IP address. Returns the token of a new session, which the page sends
   * with each request. Rejects with CallError in three cases: `AUTH_ERROR` if the engine rejects the token;
   * `disconnected` if the engine cannot be reached; `overloaded` if too many tokens are being checked. Rejects with
   * TooManyAttempts after too many failures.
   */
  async login(token: string, from: string): Promise<string> {
    this.#sweep();
    // A hash is used as the key, because the time of a map lookup could reveal parts of a token.
    const key = keyOf(token);
    const shared = this.#shared.get(key);
    if (shared !== undefined && shared.client.link.port("bridge").state === "connected") return this.#open(shared);
    return this.#open(await (this.#checks.get(key) ?? this.#startCheck(key, token, from)));
  }

  /** Returns the session of a token, or undefined if it does not exist or has ended. */
  find(token: string | undefined): Session | undefined {
    const session = token === undefined ? undefined : this.#openSessions.get(keyOf(token));
    if (session === undefined || !this.#hasEnded(session)) return session;
    this.end(keyOf(token ?? ""));
    return undefined;
  }

  logout(token: string | undefined): void {
    if (token !== undefined) this.end(keyOf(token));
  }

  /** Ends a session by its key. Does nothing if it has ended. */
  end(key: string): void {
    const session = this.#openSessions.get(key);
    if (session === undefined) return;
    this.#openSessions.delete(key);
    for (const ending of session.endings) ending();
    const { shared } = session;
    shared.sessions.delete(key);
    if (shared.sessions.size > 0) return;
    this.#shared.delete(shared.key);
    void shared.client.close();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const clients = [...this.#shared.values()].map(({ client }) => client);
    for (const key of [...this.#openSessions.keys()]) this.end(key);
    await Promise.all(clients.map((client) => client.close()));
  }

  #startCheck(key: string, token: string, from: string): Promise<Shared> {
    const isKnown = this.#shared.has(key) || this.#accepted.has(key);
    const check = (isKnown ? this.#check(key, token, from) : this.#checkUnknown(key, token, from)).finally(() =>
      this.#checks.delete(key),
    );
    this.#checks.set(key, check);
    return check;
  }

  async #checkUnknown(key: string, token: string, from: string): Promise<Shared> {
    if (this.#unknownChecks >= MAX_UNKNOWN_CHECKS)
      throw new CallError("overloaded", "other logins are being checked; try again");
    const takeBack = this.#limits.take(from);
    this.#unknownChecks++;
    try {
      const shared = await this.#check(key, token, from);
      takeBack();
      return shared;
    } catch (error) {
      if (!isRejection(error)) takeBack();
      throw error;
    } finally {
      this.#unknownChecks--;
    }
  }

  /** Connects to the engine with the token. */
  async #check(key: string, token: string, from: string): Promise<Shared> {
    const client = this.#parts.connect(token);
    try {
      await client.link.admitted();
    } catch (error) {
      await client.close();
      if (isRejection(error)) {
        this.#accepted.delete(key);
        this.#noteFailure(from);
      }
      throw error;
    }
    this.#remember(key);
    const other = this.#shared.get(key);
    if (other !== undefined) {
      void client.close();
      return other;
    }
    const shared: Shared = { key, client, sessions: new Set() };
    this.#shared.set(key, shared);
    // If the token is revoked, all its sessions end.
    client.link.onState(() => {
      if (!client.link.isRefused) return;
      this.#accepted.delete(key);
      for (const session of [...shared.sessions]) this.end(session);
    });
    return shared;
  }

  #remember(key: string): void {
    this.#accepted.delete(key);
    this.#accepted.add(key);
    const [oldest] = this.#accepted;
    if (this.#accepted.size > MAX_ACCEPTED_TOKENS && oldest !== undefined) this.#accepted.delete(oldest);
  }

  #open(shared: Shared): string {
    const token = randomBytes(32).toString("base64url");
    const { now } = this.#parts;
    const endings = new Set<() => void>();
    const session: OpenSession = {
      client: shared.client,
      shared,
      endings,
      usedAtMs: now(),
      onEnd(end) {
        endings.add(end);
        return () => endings.delete(end);
      },
      touch() {
        session.usedAtMs = now();
      },
    };
    this.#openSessions.set(keyOf(token), session);
    shared.sessions.add(keyOf(token));
    if (shared.sessions.size > MAX_SESSIONS_OF_TOKEN) this.#endLeastRecentlyUsed(shared.sessions);
    if (this.#openSessions.size > MAX_SESSIONS) this.#endLeastRecentlyUsed(this.#sessionsOfLargest());
    return token;
  }

  /**
   * Returns the sessions of the token that has the most sessions. One of them is ended when there are too many, so that
   * many logins with one token do not end sessions of other tokens.
   */
  #sessionsOfLargest(): readonly string[] {
    const most = Math.max(...[...this.#shared.values()].map(({ sessions }) => sessions.size));
    return [...this.#shared.values()].flatMap(({ sessions }) => (sessions.size === most ? [...sessions] : []));
  }

  #endLeastRecentlyUsed(sessions: Iterable<string>): void {
    let oldest: { readonly key: string; readonly usedAtMs: number } | undefined;
    for (const key of sessions) {
      const { usedAtMs = Number.POSITIVE_INFINITY } = this.#openSessions.get(key) ?? {};
      if (oldest === undefined || usedAtMs < oldest.usedAtMs) oldest = { key, usedAtMs };
    }
    if (oldest !== undefined) this.end(oldest.key);
  }

  #hasEnded({ usedAtMs }: OpenSession): boolean {
    return this.#parts.now() - usedAtMs >= SESSION_IDLE_MS;
  }

  #sweep(): void {
    for (const [key, session] of [...this.#openSessions]) if (this.#hasEnded(session)) this.end(key);
  }

  /** Writes a line about failed logins, at most once per second. */
  #noteFailure(from: string): void {
    const nowMs = this.#parts.now();
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

/** Returns true if the engine rejected the token. */
function isRejection(error: unknown): boolean {
  return CallError.is(error) && error.code === "AUTH_ERROR";
}

/** Returns the hash of a token. Lookups by it do not reveal the token through their duration. */
function keyOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
