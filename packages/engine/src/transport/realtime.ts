import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../kernel/clock.ts";
import { every } from "../kernel/clock.ts";
import type { FrameSocket } from "../kernel/frame-socket.ts";
import type { Logger } from "../kernel/logger.ts";
import type { RealtimeSocket } from "../kernel/module.ts";
import type { Undo } from "../kernel/scope.ts";
import { type AccessRules, upgradeRefusal } from "./guards.ts";
import { answerError, Listener, refuseUpgrade } from "./listener.ts";
import type { Refusal } from "./token-guard.ts";
import { acceptWebSocket } from "./websocket.ts";

const PING_EVERY_MS = 10_000;
const DEAD_AFTER_MS = 25_000;
/** A client's message over this many bytes closes its connection: clients of this listener only join, leave and say who they are. */
const MAX_MESSAGE_BYTES = 64 * 1024;
const CLOSE_GOING_AWAY = 1001;
const CLOSE_TOO_BIG = 1009;
const CLOSE_INTERNAL_ERROR = 1011;

/** Who may use a listener besides what its Host and Origin rules say. */
export interface ListenerAccess {
  /** Why a request may not go on for want of the engine's token. */
  readonly tokenRefusal?: (request: IncomingMessage) => Refusal | undefined;
  readonly maxConnectionsPerAddress?: () => number | undefined;
}

/** The real-time listener: sockets that modules mount, for live updates and streams. */
export class Realtime {
  readonly listener: Listener;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #rules: () => AccessRules;
  readonly #tokenRefusal: (request: IncomingMessage) => Refusal | undefined;
  readonly #mounts = new Map<string, (socket: RealtimeSocket) => void>();
  readonly #sockets = new Set<FrameSocket>();

  /** Without `access` whoever reaches the listener is let in. */
  constructor(clock: Clock, rules: () => AccessRules, log: Logger, access: ListenerAccess = {}) {
    this.#tokenRefusal = access.tokenRefusal ?? (() => undefined);
    this.#clock = clock;
    this.#log = log;
    this.#rules = rules;
    this.listener = new Listener({
      what: "live updates",
      onRequest: (_request, response) => answerError(response, 426, "invalid_message", "this port speaks WebSocket", { upgrade: "websocket" }),
      onUpgrade: (request, stream, head) => this.#upgrade(request, stream, head),
      ...(access.maxConnectionsPerAddress === undefined ? {} : { maxConnectionsPerAddress: access.maxConnectionsPerAddress }),
    });
  }

  mount(path: string, accept: (socket: RealtimeSocket) => void): Undo {
    if (this.#mounts.has(path)) throw new TypeError(`another module already serves the socket ${path}`);
    this.#mounts.set(path, accept);
    return () => {
      if (this.#mounts.get(path) === accept) this.#mounts.delete(path);
    };
  }

  closeAll(): void {
    for (const socket of this.#sockets) socket.close(CLOSE_GOING_AWAY, "the engine is shutting down");
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const refusal: Refusal | undefined = upgradeRefusal(request, this.listener.port, this.#rules()) ?? this.#tokenRefusal(request);
    if (refusal !== undefined) {
      refuseUpgrade(stream, refusal.status, refusal.code, refusal.message, refusal.headers);
      return;
    }
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    const accept = this.#mounts.get(path);
    if (accept === undefined) {
      refuseUpgrade(stream, "404 Not Found", "NOT_FOUND", `there is no socket at ${path}`);
      return;
    }
    acceptWebSocket(request, stream, head, (socket) => this.#open(socket, accept));
  }

  #open(socket: FrameSocket, accept: (socket: RealtimeSocket) => void): void {
    let lastHeardAt = this.#clock.monotonic();
    let onMessage: (text: string) => void = () => {};
    const closeListeners: (() => void)[] = [];
    this.#sockets.add(socket);
    const stopHeartbeat = every(this.#clock, PING_EVERY_MS, () => {
      if (this.#clock.monotonic() - lastHeardAt >= DEAD_AFTER_MS) socket.terminate();
      else socket.ping();
    });
    socket.listen({
      onFrame: (bytes) => {
        lastHeardAt = this.#clock.monotonic();
        if (bytes.length > MAX_MESSAGE_BYTES) socket.close(CLOSE_TOO_BIG, `a message may have ${MAX_MESSAGE_BYTES} bytes`);
        else this.#guarded(socket, () => onMessage(bytes.toString("utf8")));
      },
      onAlive: () => {
        lastHeardAt = this.#clock.monotonic();
      },
      onClosed: () => {
        stopHeartbeat();
        this.#sockets.delete(socket);
        for (const listener of closeListeners) listener();
      },
    });
    accept({
      send: (text) => socket.send(text),
      get bufferedBytes() {
        return socket.queuedBytes;
      },
      onMessage: (listener) => {
        onMessage = listener;
      },
      onClose: (listener) => closeListeners.push(listener),
      close: (code, reason) => socket.close(code, reason),
    });
  }

  /** A defect in a module's socket handling ends that socket and nothing else. */
  #guarded(socket: FrameSocket, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#log.error("a real-time message could not be handled", { error });
      socket.close(CLOSE_INTERNAL_ERROR, "the engine failed to handle the message");
    }
  }
}
