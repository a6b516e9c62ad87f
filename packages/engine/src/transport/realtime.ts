import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../kernel/clock.ts";
import type { FrameSocket } from "../kernel/frame-socket.ts";
import { Heartbeat } from "../kernel/heartbeat.ts";
import type { Logger } from "../kernel/logger.ts";
import type { StreamClient } from "../kernel/stream-contract.ts";
import type { RealtimeSocket } from "../streams/outbox.ts";
import { acceptWebSocket } from "./frames/server-socket.ts";
import { type AccessRules, upgradeRefusal } from "./guards.ts";
import { Listener, refuseUpgrade, sendError } from "./listener.ts";
import { headersOf, pathOf, queryOf } from "./request-facts.ts";
import type { Refusal } from "./token-guard.ts";

/** A ping is sent at every fourth heartbeat: every 10 s. */
const BEATS_PER_PING = 4;
/**
 * Time in milliseconds without a message or pong after which a client is disconnected. Heartbeats check it, so the
 * client is disconnected after 25 s at the latest.
 */
const DEAD_AFTER_MS = 22_500;
const CLOSE_GOING_AWAY = 1001;
const CLOSE_INTERNAL_ERROR = 1011;

/** Access checks of a listener in addition to its Host and Origin rules. */
export interface ListenerAccess {
  /** Returns why a request is refused if it lacks the engine's token. */
  readonly tokenRefusal?: (request: IncomingMessage) => Refusal | undefined;
  readonly maxConnectionsPerAddress?: () => number | undefined;
  /** Returns whether a request has the engine's token. */
  readonly isTrusted?: (request: IncomingMessage) => boolean;
  /**
   * Returns false while the engine starts or stops. New clients are then asked to connect again, because joins would be
   * refused before the module for them has started.
   */
  readonly isReady?: () => boolean;
}

/** Serves the sockets of the real-time listener. */
export interface RealtimeServer {
  serves(path: string): boolean;
  accept(socket: RealtimeSocket): void;
}

/** The real-time listener. Accepts WebSockets for user-defined streams and for the engine's own streams. */
export class Realtime {
  readonly listener: Listener;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #rules: () => AccessRules;
  readonly #tokenRefusal: (request: IncomingMessage) => Refusal | undefined;
  readonly #server: RealtimeServer;
  readonly #isReady: () => boolean;
  readonly #isTrusted: (request: IncomingMessage) => boolean;
  readonly #sockets = new Set<FrameSocket>();
  readonly #heartbeat: Heartbeat;

  /** Without `access` all clients are accepted. */
  constructor(
    clock: Clock,
    rules: () => AccessRules,
    log: Logger,
    server: RealtimeServer,
    access: ListenerAccess = {},
  ) {
    this.#server = server;
    this.#isReady = access.isReady ?? (() => true);
    this.#isTrusted = access.isTrusted ?? (() => false);
    this.#tokenRefusal = access.tokenRefusal ?? (() => undefined);
    this.#clock = clock;
    this.#heartbeat = new Heartbeat(clock);
    this.#log = log;
    this.#rules = rules;
    this.listener = new Listener({
      what: "streams",
      onRequest: (_request, response) =>
        sendError(response, 426, "invalid_message", "this port speaks WebSocket", { upgrade: "websocket" }),
      onUpgrade: (request, stream, head) => this.#upgrade(request, stream, head),
      ...(access.maxConnectionsPerAddress === undefined
        ? {}
        : { maxConnectionsPerAddress: access.maxConnectionsPerAddress }),
    });
  }

  closeAll(): void {
    for (const socket of this.#sockets) socket.close(CLOSE_GOING_AWAY, "the engine is shutting down");
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const refusal: Refusal | undefined =
      upgradeRefusal(request, this.listener.port, this.#rules()) ?? this.#tokenRefusal(request);
    if (refusal !== undefined) {
      refuseUpgrade(stream, refusal.status, refusal.code, refusal.message, refusal.headers);
      return;
    }
    const path = pathOf(request);
    if (!this.#server.serves(path)) {
      refuseUpgrade(
        stream,
        "404 Not Found",
        "NOT_FOUND",
        `there is no socket at ${path}; this port serves / and /stream/{name}/{group}[/{id}]`,
      );
      return;
    }
    if (!this.#isReady()) {
      refuseUpgrade(
        stream,
        "503 Service Unavailable",
        "draining",
        "the engine is starting or stopping; connect again",
        { "retry-after": "1" },
      );
      return;
    }
    const client: StreamClient = {
      headers: headersOf(request),
      path,
      query: queryOf(request),
      address: addressOf(request),
      trusted: this.#isTrusted(request),
    };
    acceptWebSocket(request, stream, head, (socket) => this.#open(socket, client), { messages: "small" });
  }

  #open(socket: FrameSocket, client: StreamClient): void {
    let lastHeardAt = this.#clock.monotonic();
    let onMessage: (text: string) => void = () => {};
    const closeListeners: (() => void)[] = [];
    let beats = 0;
    let queuedBytes = 0;
    const beating = {
      beat: () => {
        // A client that reads its queue is alive, although its pong may be delayed until it has read the ping.
        if (socket.queuedBytes < queuedBytes) lastHeardAt = this.#clock.monotonic();
        queuedBytes = socket.queuedBytes;
        if (this.#clock.monotonic() - lastHeardAt >= DEAD_AFTER_MS) socket.terminate();
        else if (++beats % BEATS_PER_PING === 0) socket.ping();
      },
    };
    this.#sockets.add(socket);
    this.#heartbeat.add(beating);
    /** Notifies the server that the connection has ended or is closing. */
    const end = (): void => {
      for (const listener of closeListeners.splice(0)) listener();
    };
    const close = (code: number, reason: string): void => {
      socket.close(code, reason);
      end();
    };
    socket.listen({
      onFrame: (bytes) => {
        lastHeardAt = this.#clock.monotonic();
        this.#guarded(close, () => onMessage(bytes.toString("utf8")));
      },
      onAlive: () => {
        lastHeardAt = this.#clock.monotonic();
      },
      onClosed: () => {
        this.#heartbeat.remove(beating);
        this.#sockets.delete(socket);
        end();
      },
    });
    this.#server.accept({
      client,
      send: (frame) => socket.send(frame),
      get bufferedBytes() {
        return socket.queuedBytes;
      },
      onceDrained: (listener) => socket.onceDrained(listener),
      onMessage: (listener) => {
        onMessage = listener;
      },
      onClose: (listener) => closeListeners.push(listener),
      close,
    });
  }

  /** Runs `action`. If it throws, which is a bug of the engine, only this socket is closed. */
  #guarded(close: (code: number, reason: string) => void, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#log.error("a real-time message could not be handled", { error });
      close(CLOSE_INTERNAL_ERROR, "the engine failed to handle the message");
    }
  }
}

/** Returns the client's address as `ip:port`. */
function addressOf({ socket }: IncomingMessage): string {
  return `${(socket.remoteAddress ?? "").replace(/^::ffff:/, "")}:${socket.remotePort ?? 0}`;
}
