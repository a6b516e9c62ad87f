import { createHash, randomBytes } from "node:crypto";
import { CallError } from "@svc/protocol";
import type { EngineClient } from "./engine-client.ts";
import { LoginLimits } from "./login-limits.ts";

/** A session that nobody used for so long ends, in milliseconds. */
export const SESSION_IDLE_MS = 12 * 60 * 60 * 1000;
/** How often sessions are looked through for those that have ended. */
const SWEEP_MS = 60_000;
/** Maximum number of open sessions of one token, and of all tokens together. A login above it ends an older session. */
export const MAX_SESSIONS_OF_TOKEN = 20;
export const MAX_SESSIONS = 100;
/** Maximum concurrent checks of tokens that the console does not know yet. */
const MAX_UNKNOWN_CHECKS = 4;
const MAX_ACCEPTED_TOKENS = 1_000;
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
  /** The console's own token. Logins with it are not limited; the engine still checks it. */
  readonly ownToken: string | undefined;
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
  readonly #limits: LoginLimits;
  /** Hashes of tokens that the engine accepted before, and of the console's own. Failed logins with other tokens do not keep them out. */
  readonly #accepted = new Set<string>();
  /** Running checks, by the hash of the token. */
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
   * Logs in with a token of the engine, from an IP address. Returns the token of a new session, which the page sends with each request.
   * Rejects with CallError: `AUTH_ERROR` if the engine refuses the token, `disconnected` if it cannot be asked, `overloaded` if too many
   * tokens are being checked. Rejects with TooManyAttempts.
   */
  async login(token: string, from: string): Promise<string> {
    this.#sweep();
    // A hash, because the time in which keys of a map are compared depends on them.
    const key = keyOf(token);
    const shared = this.#shared.get(key);
    if (shared !== undefined && shared.client.link.port("bridge").state === "connected") return this.#open(shared);
    return this.#open(await (this.#checks.get(key) ?? this.#startCheck(key, token, from)));
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

  #startCheck(key: string, token: string, from: string): Promise<Shared> {
    const isKnown = this.#shared.has(key) || this.#accepted.has(key);
    const check = (isKnown ? this.#check(key, token, from) : this.#checkUnknown(key, token, from)).finally(() => this.#checks.delete(key));
    this.#checks.set(key, check);
    return check;
  }

  async #checkUnknown(key: string, token: string, from: string): Promise<Shared> {
    if (this.#unknownChecks >= MAX_UNKNOWN_CHECKS) throw new CallError("overloaded", "other logins are being checked; try again");
    const takeBack = this.#limits.take(from);
    this.#unknownChecks++;
    try {
      const shared = await this.#check(key, token, from);
      takeBack();
      return shared;
    } catch (error) {
      if (!isRefusal(error)) takeBack();
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
      if (isRefusal(error)) {
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
    // When the token is withdrawn, its sessions have no rights any more.
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
    if (shared.sessions.size > MAX_SESSIONS_OF_TOKEN) this.#endLeastRecentlyUsed(shared.sessions);
    if (this.#held.size > MAX_SESSIONS) this.#endLeastRecentlyUsed(this.#sessionsOfLargest());
    return token;
  }

  /** The sessions of the token that has the most of them, so that many logins with one token end none of another. */
  #sessionsOfLargest(): readonly string[] {
    const most = Math.max(...[...this.#shared.values()].map(({ sessions }) => sessions.size));
    return [...this.#shared.values()].flatMap(({ sessions }) => (sessions.size === most ? [...sessions] : []));
  }

  #endLeastRecentlyUsed(sessions: Iterable<string>): void {
    let oldest: { readonly key: string; readonly usedAtMs: number } | undefined;
    for (const key of sessions) {
      const { usedAtMs = Number.POSITIVE_INFINITY } = this.#held.get(key) ?? {};
      if (oldest === undefined || usedAtMs < oldest.usedAtMs) oldest = { key, usedAtMs };
    }
    if (oldest !== undefined) this.end(oldest.key);
  }

  #hasEnded({ usedAtMs }: Held): boolean {
    return this.#parts.now() - usedAtMs >= SESSION_IDLE_MS;
  }

  #sweep(): void {
    for (const [key, held] of [...this.#held]) if (this.#hasEnded(held)) this.end(key);
  }

  /** Writes at most one line a second. */
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

/** True if the engine was asked about the token and does not accept it. */
function isRefusal(error: unknown): boolean {
  return CallError.is(error) && error.code === "AUTH_ERROR";
}

/** Tokens are looked up by their hash: comparing takes a time that tells nothing about the token itself. */
function keyOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
