import { type BackoffOptions, backoffMs, CallError } from "@svc/protocol";
import { Redis } from "ioredis";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { Durability } from "../../item-store.ts";
import { explainConnectFailure } from "./connect-failure.ts";
import { readDurability, warningsOf } from "./durability.ts";
import { type RequestLimits, Requests } from "./requests.ts";
import { type Script, scripts } from "./script.ts";
import { WriteRefusal } from "./write-refusal.ts";

export interface LinkOptions extends RequestLimits {
  /** May hold credentials, which are shown nowhere. */
  readonly url: string;
  /** A key that holds nothing of the items; written to find out whether the server takes writes again. */
  readonly probeKey: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Deadline of connecting, until the server takes commands, in milliseconds. */
  readonly connectTimeoutMs: number;
}

/** Gets the reply, or why there is none. Called exactly once. */
export type OnReply = (error: CallError | undefined, reply: unknown) => void;

type Arguments = readonly (string | number)[];

/** One request of a caller, which may take several commands. */
export interface Ticket {
  /** The caller was told that the deadline passed. */
  readonly isOver: boolean;
  run(script: Script, args: Arguments, onReply: OnReply): void;
  command(name: string, args: Arguments, onReply: OnReply): void;
}

/** Ends a request. */
export interface Settle<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

const RECONNECT_BACKOFF: BackoffOptions = { firstMs: 50, maxMs: 1_000, jitter: 0 };

/**
 * One connection to a Redis server. Commands run in the order in which they were given, and their callbacks are called in that order, each in the turn
 * in which its reply came.
 *
 * A lost connection is made again, and what was under way on it fails: nothing is sent twice. While there is none, requests fail at once.
 */
export class RedisLink {
  readonly #address: string;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #requestTimeoutMs: number;
  readonly #connectTimeoutMs: number;
  readonly #redis: Redis;
  readonly #requests: Requests;
  readonly #writeRefusal: WriteRefusal;
  #state: "starting" | "ready" | "lost" | "closed" = "starting";
  #lastError: Error | undefined;
  #durability: Durability = "memory";
  /** The server's name for the connection in use or the last one. */
  #clientId: number | undefined;
  /** Ends the wait for a connection that was made and is not ready. */
  #cancelConnectDeadline = () => {};
  #closing: Promise<void> | undefined;

  constructor(options: LinkOptions) {
    this.#address = printAddress(options.url);
    this.#log = options.log.with({ redis: this.#address });
    this.#clock = options.clock;
    this.#requestTimeoutMs = options.requestTimeoutMs;
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#requests = new Requests(options, options.clock, () => this.#abandon());
    this.#redis = new Redis(options.url, {
      lazyConnect: true,
      connectTimeout: options.connectTimeoutMs,
      // What is under way when the connection ends is neither kept nor sent again: it may have been done.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      // Asked before `close` is told.
      retryStrategy: (attempt) => (this.#state === "starting" || this.#state === "closed" ? null : backoffMs(RECONNECT_BACKOFF, attempt)),
      keepAlive: 10_000,
      connectionName: "svc",
      disableClientInfo: true,
    });
    this.#writeRefusal = new WriteRefusal(() => this.#redis.call("SET", options.probeKey, ""), options.clock, this.#log);
    this.#redis.on("error", (error: Error) => {
      this.#lastError = error;
    });
    this.#redis.on("connect", () => this.#limitConnecting());
    this.#redis.on("close", () => this.#lose());
    this.#redis.on("ready", () => {
      if (this.#state === "lost") this.#regain();
    });
  }

  get durability(): Durability {
    return this.#durability;
  }

  /** Rejects with an Error for people when the server cannot be used. */
  async open(): Promise<void> {
    try {
      await this.#redis.connect();
      await this.#prepare();
    } catch (thrown) {
      const reason = this.#lastError ?? (thrown instanceof Error ? thrown : new Error(String(thrown)));
      this.#state = "closed";
      this.#cancelConnectDeadline();
      this.#redis.disconnect();
      throw new Error(explainConnectFailure(this.#address, reason), { cause: reason });
    }
    this.#state = "ready";
    this.#cancelConnectDeadline();
  }

  /** Why nothing can be written at present; undefined when it can. */
  problem(): string | undefined {
    if (this.#state === "lost") return this.#lostText();
    const { reason } = this.#writeRefusal;
    return reason === undefined ? undefined : `Redis at ${this.#address} refuses writes: ${reason}`;
  }

  /**
   * Takes on a request of about so many bytes. `work` sends its commands; `settle` ends it. Rejects with CallError: `storage_failed`, whose
   * `details.outcome` is `unknown` when a write may have been done; `overloaded`; `call_timeout` past the deadline; `draining` after `close`.
   */
  request<T>(bytes: number, work: (ticket: Ticket, settle: Settle<T>) => void): Promise<T> {
    const refusal = this.#refusalFor(bytes);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise<T>((resolve, reject) => {
      const pending = this.#requests.add(bytes, reject);
      const settle: Settle<T> = {
        resolve: (value) => {
          this.#requests.remove(pending);
          resolve(value);
        },
        reject: (error) => {
          this.#requests.remove(pending);
          reject(error);
        },
      };
      const ticket: Ticket = {
        get isOver() {
          return pending.isOver;
        },
        run: (script, args, onReply) => this.#run(script, args, guarded(onReply, settle)),
        command: (name, args, onReply) => this.#command(name, args, guarded(onReply, settle)),
      };
      work(ticket, settle);
    });
  }

  /** Waits for what is under way, then ends the connection. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #refusalFor(bytes: number): CallError | undefined {
    if (this.#closing !== undefined) return new CallError("draining", "the connection to Redis is closing and takes no more requests");
    if (this.#state !== "ready") return storageFailed(this.#lostText(), "not_written");
    return this.#requests.refusalFor(bytes);
  }

  #run(script: Script, args: Arguments, onReply: OnReply): void {
    this.#command("EVALSHA", [script.sha, 0, ...args], (error, reply) => {
      // Somebody emptied the server's cache of scripts. Nothing was run.
      if (error !== undefined && String(error.details?.reason).startsWith("NOSCRIPT")) this.#command("EVAL", [script.lua, 0, ...args], onReply);
      else onReply(error, reply);
    });
  }

  #command(name: string, args: Arguments, onReply: OnReply): void {
    if (this.#state !== "ready") {
      onReply(storageFailed(this.#lostText(), "not_written"), undefined);
      return;
    }
    this.#redis.call(name, [...args]).then(
      (reply) => onReply(undefined, reply),
      (error: Error) => onReply(this.#explain(error), undefined),
    );
  }

  #explain(error: Error): CallError {
    if (error.name !== "ReplyError") {
      const reason = `the connection to Redis at ${this.#address} ended before the answer came; a write may have been done`;
      return storageFailed(reason, "unknown", error);
    }
    this.#writeRefusal.note(error.message);
    return storageFailed(error.message, "not_written", error);
  }

  /** A server that says nothing for so long gets a new connection. */
  #abandon(): void {
    if (this.#state !== "ready" || this.#closing !== undefined) return;
    this.#lastError = new Error(`it did not answer within ${this.#requestTimeoutMs} ms`);
    this.#redis.disconnect(true);
    this.#lose();
  }

  /** The client limits how long a connection takes to be made, and not how long the server then says nothing or reads its files. */
  #limitConnecting(): void {
    this.#cancelConnectDeadline = this.#clock.after(this.#connectTimeoutMs, () => {
      this.#lastError = new Error(`it is not ready after ${this.#connectTimeoutMs} ms`);
      this.#redis.disconnect(this.#state === "lost");
    });
  }

  #lose(): void {
    this.#cancelConnectDeadline();
    if (this.#state !== "ready") return;
    this.#state = "lost";
    this.#writeRefusal.stop();
    if (this.#closing === undefined) this.#log.error("the connection to Redis was lost; connecting again", { reason: this.#lastError?.message });
  }

  #regain(): void {
    this.#prepare().then(
      () => {
        if (this.#state !== "lost") return;
        this.#state = "ready";
        this.#cancelConnectDeadline();
        this.#lastError = undefined;
        this.#log.info("connected to Redis again");
      },
      (error: Error) => {
        this.#lastError = error;
        this.#redis.disconnect(true);
      },
    );
  }

  /** What a new connection needs before it is used: the one before must not do anything any more, and the server must know the scripts. */
  async #prepare(): Promise<void> {
    const former = this.#clientId;
    // Either may be forbidden to us; then the server ends the former connection in its own time.
    if (former !== undefined) await this.#redis.client("KILL", "ID", former).catch(() => undefined);
    this.#clientId = await this.#redis.client("ID").catch(() => undefined);
    for (const { lua } of Object.values(scripts)) await this.#redis.call("SCRIPT", "LOAD", lua);
    const found = await readDurability((name) => this.#redis.call("CONFIG", "GET", name));
    this.#durability = found.durability;
    for (const { message, fields } of warningsOf(found)) this.#log.warn(message, fields);
  }

  #lostText(): string {
    const reason = this.#lastError === undefined ? "" : ` (${this.#lastError.message || this.#lastError.name})`;
    return `there is no connection to Redis at ${this.#address}${reason}; it is tried again every second`;
  }

  async #close(): Promise<void> {
    await this.#requests.drained();
    this.#writeRefusal.stop();
    this.#cancelConnectDeadline();
    this.#state = "closed";
    this.#redis.disconnect();
  }
}

/** What fails in reading a reply fails the request. */
function guarded(onReply: OnReply, settle: Settle<never>): OnReply {
  return (error, reply) => {
    try {
      onReply(error, reply);
    } catch (thrown) {
      settle.reject(thrown);
    }
  };
}

function storageFailed(reason: string, outcome: "not_written" | "unknown", cause?: Error): CallError {
  return new CallError("storage_failed", reason, { details: { reason, outcome }, cause });
}

/** Protocol, host, port and database of a Redis URL: what may be logged. The user and the password are left out. */
function printAddress(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
  } catch {
    return "the address in redis_url, which is no URL";
  }
}
