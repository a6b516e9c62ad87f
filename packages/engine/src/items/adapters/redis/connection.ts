import { type BackoffOptions, backoffMs, CallError } from "@svc-runtime/protocol";
import { Redis } from "ioredis";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { Durability } from "../../item-store.ts";
import { explainConnectFailure } from "./connect-failure.ts";
import { readDurability, warningsOf } from "./durability.ts";
import { type RequestLimits, Requests } from "./requests.ts";
import { type Script, scripts } from "./script.ts";
import { WriteRefusal } from "./write-refusal.ts";

export interface ConnectionOptions extends RequestLimits {
  /** May contain credentials, which are never logged. */
  readonly url: string;
  /** Key that is written to check whether the server accepts writes again. It is not the key of an item. */
  readonly probeKey: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Maximum time until a new connection accepts commands, in milliseconds. */
  readonly connectTimeoutMs: number;
}

/** Receives the reply or an error. Called exactly once. */
export type OnReply = (error: CallError | undefined, reply: unknown) => void;

type Arguments = readonly (string | number)[];

/** A request of a caller. It may send several commands. */
export interface RequestHandle {
  /** True after the request was rejected because of its timeout. */
  readonly isOver: boolean;
  run(script: Script, args: Arguments, onReply: OnReply): void;
  command(name: string, args: Arguments, onReply: OnReply): void;
}

/** Settles a request. */
export interface Settle<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

const RECONNECT_BACKOFF: BackoffOptions = { firstMs: 50, maxMs: 1_000, jitter: 0 };

/**
 * A connection to a Redis server. Commands run in the order in which they are sent. Callbacks are called in the same
 * order, each in the event loop turn of its reply.
 *
 * Reconnects if the connection is lost. Commands in flight then fail, and are not sent again. Requests fail immediately
 * while there is no connection.
 */
export class RedisConnection {
  readonly #address: string;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #requestTimeoutMs: number;
  readonly #connectTimeoutMs: number;
  readonly #redis: Redis;
  readonly #requests: Requests;
  readonly #writeRefusal: WriteRefusal;
  #state: "starting" | "ready" | "disconnected" | "closed" = "starting";
  #lastError: Error | undefined;
  #durability: Durability = "memory";
  /** Redis client id of the current or last connection. */
  #clientId: number | undefined;
  /** Cancels the timeout of a connection that is not ready yet. */
  #cancelConnectDeadline = () => {};
  #closing: Promise<void> | undefined;

  constructor(options: ConnectionOptions) {
    this.#address = printAddress(options.url);
    this.#log = options.log.with({ redis: this.#address });
    this.#clock = options.clock;
    this.#requestTimeoutMs = options.requestTimeoutMs;
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#requests = new Requests(options, options.clock, () => this.#reconnect());
    this.#redis = new Redis(options.url, {
      lazyConnect: true,
      connectTimeout: options.connectTimeoutMs,
      // Commands in flight must not be sent again after a disconnect: the server may have executed them.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      // ioredis calls this function before it emits `close`.
      retryStrategy: (attempt) =>
        this.#state === "starting" || this.#state === "closed" ? null : backoffMs(RECONNECT_BACKOFF, attempt),
      keepAlive: 10_000,
      connectionName: "svc",
      disableClientInfo: true,
    });
    this.#writeRefusal = new WriteRefusal(
      () => this.#redis.call("SET", options.probeKey, ""),
      options.clock,
      this.#log,
    );
    this.#redis.on("error", (error: Error) => {
      this.#lastError = error;
    });
    this.#redis.on("connect", () => this.#limitConnecting());
    this.#redis.on("close", () => this.#onDisconnected());
    this.#redis.on("ready", () => {
      if (this.#state === "disconnected") this.#onReconnected();
    });
  }

  get durability(): Durability {
    return this.#durability;
  }

  /** Connects. Rejects with an Error with a user message if the server cannot be used. */
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

  /** Returns the reason why writes fail at present, or undefined if they work. */
  problem(): string | undefined {
    if (this.#state === "disconnected") return this.#disconnectedText();
    const { reason } = this.#writeRefusal;
    return reason === undefined ? undefined : `Redis at ${this.#address} rejects writes: ${reason}`;
  }

  /**
   * Starts a request of about `bytes` bytes. `work` sends its commands and settles it. Rejects with CallError:
   * `storage_failed` (`details.outcome` is `unknown` if a write may have been executed), `overloaded`, `call_timeout`,
   * or `draining` after `close`.
   */
  request<T>(bytes: number, work: (request: RequestHandle, settle: Settle<T>) => void): Promise<T> {
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
      const request: RequestHandle = {
        get isOver() {
          return pending.isOver;
        },
        run: (script, args, onReply) => this.#run(script, args, guarded(onReply, settle)),
        command: (name, args, onReply) => this.#command(name, args, guarded(onReply, settle)),
      };
      work(request, settle);
    });
  }

  /** Waits for pending requests, then disconnects. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #refusalFor(bytes: number): CallError | undefined {
    if (this.#closing !== undefined)
      return new CallError("draining", "the connection to Redis is closing and accepts no more requests");
    if (this.#state !== "ready") return storageFailed(this.#disconnectedText(), "not_written");
    return this.#requests.refusalFor(bytes);
  }

  #run(script: Script, args: Arguments, onReply: OnReply): void {
    this.#command("EVALSHA", [script.sha, 0, ...args], (error, reply) => {
      // The server's script cache was flushed, so the script did not run.
      if (error !== undefined && String(error.details?.reason).startsWith("NOSCRIPT"))
        this.#command("EVAL", [script.lua, 0, ...args], onReply);
      else onReply(error, reply);
    });
  }

  #command(name: string, args: Arguments, onReply: OnReply): void {
    if (this.#state !== "ready") {
      onReply(storageFailed(this.#disconnectedText(), "not_written"), undefined);
      return;
    }
    this.#redis.call(name, [...args]).then(
      (reply) => onReply(undefined, reply),
      (error: Error) => onReply(this.#explain(error), undefined),
    );
  }

  #explain(error: Error): CallError {
    if (error.name !== "ReplyError") {
      const reason = `the connection to Redis at ${this.#address} was lost before the reply; a write may have been executed`;
      return storageFailed(reason, "unknown", error);
    }
    this.#writeRefusal.note(error.message);
    return storageFailed(error.message, "not_written", error);
  }

  /** Reconnects after a request timed out, because the connection may be dead. */
  #reconnect(): void {
    if (this.#state !== "ready" || this.#closing !== undefined) return;
    this.#lastError = new Error(`no reply within ${this.#requestTimeoutMs} ms`);
    this.#redis.disconnect(true);
    this.#onDisconnected();
  }

  /**
   * Limits the time until the server is ready, e.g. while it loads its files. ioredis limits only the time to connect.
   */
  #limitConnecting(): void {
    this.#cancelConnectDeadline = this.#clock.after(this.#connectTimeoutMs, () => {
      this.#lastError = new Error(`not ready within ${this.#connectTimeoutMs} ms`);
      this.#redis.disconnect(this.#state === "disconnected");
    });
  }

  #onDisconnected(): void {
    this.#cancelConnectDeadline();
    if (this.#state !== "ready") return;
    this.#state = "disconnected";
    this.#writeRefusal.stop();
    if (this.#closing === undefined)
      this.#log.error("connection to Redis lost; reconnecting", { reason: this.#lastError?.message });
  }

  #onReconnected(): void {
    this.#prepare().then(
      () => {
        if (this.#state !== "disconnected") return;
        this.#state = "ready";
        this.#cancelConnectDeadline();
        this.#lastError = undefined;
        this.#log.info("reconnected to Redis");
      },
      (error: Error) => {
        this.#lastError = error;
        this.#redis.disconnect(true);
      },
    );
  }

  /**
   * Prepares a new connection. Kills the previous connection, so that its commands cannot run later. Loads the scripts.
   */
  async #prepare(): Promise<void> {
    const former = this.#clientId;
    // The user may lack the permission for these commands. The server then closes the previous connection by itself
    // later.
    if (former !== undefined) await this.#redis.client("KILL", "ID", former).catch(() => undefined);
    this.#clientId = await this.#redis.client("ID").catch(() => undefined);
    for (const { lua } of Object.values(scripts)) await this.#redis.call("SCRIPT", "LOAD", lua);
    const found = await readDurability((name) => this.#redis.call("CONFIG", "GET", name));
    this.#durability = found.durability;
    for (const { message, fields } of warningsOf(found)) this.#log.warn(message, fields);
  }

  #disconnectedText(): string {
    const reason = this.#lastError === undefined ? "" : ` (${this.#lastError.message || this.#lastError.name})`;
    return `not connected to Redis at ${this.#address}${reason}; retrying every second`;
  }

  async #close(): Promise<void> {
    await this.#requests.drained();
    this.#writeRefusal.stop();
    this.#cancelConnectDeadline();
    this.#state = "closed";
    this.#redis.disconnect();
  }
}

/** Rejects the request if `onReply` throws. */
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

/** Returns protocol, host, port and database of a Redis URL for logs, without user and password. */
function printAddress(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
  } catch {
    return "the address in redis_url, which is not a URL";
  }
}
