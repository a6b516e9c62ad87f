import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Channel } from "../kernel/channels/channel.ts";
import { Connection } from "../kernel/connection.ts";
import type { FrameSocket } from "../kernel/frame-socket.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { type AccessRules, upgradeRefusal } from "./guards.ts";
import { answerError, Listener, refuseUpgrade } from "./listener.ts";
import { acceptWebSocket } from "./websocket.ts";

/** A telemetry socket that is silent for so long, pings unanswered, is cut off, in milliseconds. */
const TELEMETRY_DEAD_AFTER_MS = 22_500;

const CHANNEL_PATH = /^\/ws\/channels\/([^/]{1,200})$/;

/** The listener that workers connect to: `/` for messages, `/otel` for telemetry, `/ws/channels/<id>` for one end of a channel. */
export class Bridge {
  readonly listener: Listener;
  readonly #kernel: Kernel;
  readonly #rules: () => AccessRules;
  readonly #telemetry = new Set<FrameSocket>();
  #closing = false;

  constructor(kernel: Kernel, rules: () => AccessRules) {
    this.#kernel = kernel;
    this.#rules = rules;
    this.listener = new Listener({
      what: "workers",
      onRequest: (_request, response) =>
        answerError(response, 426, "invalid_message", "this port speaks WebSocket; workers connect to / (the HTTP API is on another port)", {
          upgrade: "websocket",
        }),
      onUpgrade: (request, stream, head) => this.#upgrade(request, stream, head),
    });
  }

  /** Cuts every worker's socket. No close frame: one published client takes a clean close for the end and never comes back. */
  dropAll(): void {
    this.#closing = true;
    for (const session of this.#kernel.sessions.all()) session.hangUp();
    this.#kernel.channelSockets.dropAll();
    for (const sink of this.#telemetry) sink.hangUp();
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const refusal = upgradeRefusal(request, this.listener.port, this.#rules());
    if (refusal !== undefined) {
      refuseUpgrade(stream, refusal.status, refusal.code, refusal.message);
      return;
    }
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (this.#closing) {
      refuseUpgrade(stream, "503 Service Unavailable", "draining", "the engine is shutting down");
      return;
    }
    if (path === "/") acceptWebSocket(request, stream, head, (socket) => new Connection(this.#kernel, socket));
    // Telemetry is taken and dropped until there is a store for it; refusing it would hang a published client's shutdown.
    else if (path === "/otel") acceptWebSocket(request, stream, head, (socket) => this.#takeTelemetry(socket));
    else if (path.startsWith("/ws/channels/")) this.#openChannel(request, stream, head);
    else refuseUpgrade(stream, "404 Not Found", "NOT_FOUND", `there is no socket at ${path}; workers connect to /`);
  }

  /** The key in the query is the credential. */
  #openChannel(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const url = new URL(`ws://bridge${request.url ?? "/"}`);
    const id = CHANNEL_PATH.exec(url.pathname)?.[1];
    const key = url.searchParams.get("key");
    const direction = url.searchParams.get("dir");
    if (id === undefined || key === null || (direction !== "read" && direction !== "write")) {
      refuseUpgrade(stream, "400 Bad Request", "invalid_request", "a channel is opened at /ws/channels/<channel_id>?key=<access_key>&dir=read, or dir=write");
      return;
    }
    const channel: Channel | undefined = this.#kernel.channels.find(id, key);
    if (channel === undefined) {
      refuseUpgrade(stream, "404 Not Found", "NOT_FOUND", "Channel not found");
      return;
    }
    acceptWebSocket(request, stream, head, (socket) => this.#kernel.channelSockets.attach(channel, direction, socket));
  }

  #takeTelemetry(socket: FrameSocket): void {
    const { clock, heartbeat } = this.#kernel;
    let lastHeardAt = clock.monotonic();
    const heard = (): void => {
      lastHeardAt = clock.monotonic();
    };
    const beating = {
      beat: () => {
        if (clock.monotonic() - lastHeardAt >= TELEMETRY_DEAD_AFTER_MS) socket.terminate();
        else socket.ping();
      },
    };
    this.#telemetry.add(socket);
    heartbeat.add(beating);
    socket.listen({
      onFrame: heard,
      onAlive: heard,
      onClosed: () => {
        heartbeat.remove(beating);
        this.#telemetry.delete(socket);
      },
    });
  }
}
