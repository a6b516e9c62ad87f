import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { TRUSTED } from "../access/principal.ts";
import type { AccessSettings } from "../access/settings.ts";
import type { Channel } from "../kernel/channels/channel.ts";
import type { ChannelSockets } from "../kernel/channels/channel-sockets.ts";
import type { Channels } from "../kernel/channels/channels.ts";
import { Connection, type ConnectionPorts } from "../kernel/connection.ts";
import type { FrameSocket } from "../kernel/frame-socket.ts";
import { DEAD_AFTER_MS } from "../kernel/heartbeat.ts";
import { SIGNAL_PREFIX_BYTES, signalOfFrame } from "../kernel/telemetry.ts";
import { type AdmissionPorts, Admissions, type Admitted, UNRESTRICTED } from "./admission.ts";
import type { EngineProof } from "./engine-proof.ts";
import { acceptWebSocket } from "./frames/server-socket.ts";
import { type AccessRules, upgradeRefusal } from "./guards.ts";
import { HeldUpgrades } from "./held-upgrades.ts";
import { Listener, refuseUpgrade, sendError } from "./listener.ts";
import type { Refusal, TokenGuard } from "./token-guard.ts";

const CHANNEL_PATH = /^\/ws\/channels\/([^/]{1,200})$/;

/** The parts of the kernel that a bridge uses. */
export interface BridgePorts extends ConnectionPorts, AdmissionPorts {
  readonly channels: Channels;
  readonly channelSockets: ChannelSockets;
}

export interface BridgeAccess {
  /** The listener's purpose, for error messages. Default: workers. */
  readonly what?: string;
  readonly guard: TokenGuard;
  /** Read for each new connection, because the config may change. */
  readonly settings: () => AccessSettings;
  readonly maxConnectionsPerAddress?: () => number | undefined;
  /** Proves the engine's identity. Set only for the listener whose address is in `engine.json`. */
  readonly proof?: EngineProof;
}

/**
 * A listener that workers connect to: `/` for messages, `/otel` for telemetry, `/ws/channels/<id>` for one end of a
 * channel.
 */
export class Bridge {
  readonly listener: Listener;
  readonly #ports: BridgePorts;
  readonly #rules: () => AccessRules;
  readonly #admissions: Admissions | undefined;
  /** Sockets of `/otel`, each with the `isCurrent` function of its admission. */
  readonly #telemetry = new Map<FrameSocket, () => boolean>();
  readonly #held = new HeldUpgrades();
  #closing = false;

  /** Without `access` all clients are accepted. */
  constructor(ports: BridgePorts, rules: () => AccessRules, access?: BridgeAccess) {
    this.#ports = ports;
    this.#rules = rules;
    this.#admissions = access === undefined ? undefined : new Admissions(ports, access.guard, access.settings);
    this.listener = new Listener({
      what: access?.what ?? "workers",
      onRequest: (request, response) => {
        if (access?.proof?.answer(request, response, { port: this.listener.port, rules: rules() }) === true) return;
        sendError(
          response,
          426,
          "invalid_message",
          "this port speaks WebSocket; workers connect to / (the HTTP API is on another port)",
          {
            upgrade: "websocket",
          },
        );
      },
      onUpgrade: (request, stream, head) => this.#upgrade(request, stream, head),
      ...(access?.maxConnectionsPerAddress === undefined
        ? {}
        : { maxConnectionsPerAddress: access.maxConnectionsPerAddress }),
    });
  }

  /** Accepts the waiting clients. Called when every module has started. */
  startServing(): void {
    this.#held.open();
  }

  /**
   * Closes the connections of workers, and `/otel` connections, that were accepted by rules that have changed. The
   * clients reconnect, and the new rules apply. Returns the number of closed connections.
   */
  dropOutdated(): number {
    const sessions = this.#ports.sessions.all().filter((session) => !session.isCurrent());
    for (const session of sessions) session.hangUp("the rules for its connection changed");
    const sinks = [...this.#telemetry].filter(([, isCurrent]) => !isCurrent());
    for (const [sink] of sinks) sink.hangUp();
    return sessions.length + sinks.length;
  }

  /**
   * Ends the sockets of all workers. Sends no close frame, because a published client does not reconnect after one.
   */
  dropAll(): void {
    this.#closing = true;
    this.#held.dropAll();
    for (const session of this.#ports.sessions.all()) session.hangUp("the engine stopped");
    this.#ports.channelSockets.dropAll();
    for (const sink of this.#telemetry.keys()) sink.hangUp();
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const refusal = upgradeRefusal(request, this.listener.port, this.#rules());
    if (refusal !== undefined) {
      refuseUpgrade(stream, refusal.status, refusal.code, refusal.message);
      return;
    }
    if (this.#held.isOpen) this.#route(request, stream, head);
    else if (!this.#held.hold(stream, () => this.#route(request, stream, head)))
      refuseUpgrade(stream, "503 Service Unavailable", "draining", "the engine is starting; connect again", {
        "retry-after": "1",
      });
  }

  #route(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (this.#closing) {
      refuseUpgrade(stream, "503 Service Unavailable", "draining", "the engine is shutting down");
      return;
    }
    if (this.#admissions?.isRemoved === true) {
      refuseUpgrade(
        stream,
        "503 Service Unavailable",
        "draining",
        "this listener was removed from engine.bridges in the config file",
      );
      return;
    }
    if (path === "/")
      this.#admit(request, stream, (admitted) =>
        acceptWebSocket(request, stream, head, (socket) => new Connection(this.#ports, socket, admitted)),
      );
    // `/otel` is accepted even if no module collects telemetry. If it were refused, a published client would hang when
    // it shuts down.
    else if (path === "/otel")
      this.#admit(request, stream, (admitted) =>
        acceptWebSocket(request, stream, head, (socket) => this.#takeTelemetry(socket, admitted)),
      );
    else if (path.startsWith("/ws/channels/")) this.#openChannel(request, stream, head);
    else refuseUpgrade(stream, "404 Not Found", "NOT_FOUND", `there is no socket at ${path}; workers connect to /`);
  }

  /** Calls `accept` if the client may connect. No frame is sent before the decision. */
  #admit(request: IncomingMessage, stream: Duplex, accept: (admitted: Admitted) => void): void {
    if (this.#admissions === undefined) {
      accept(UNRESTRICTED);
      return;
    }
    const disconnected = new AbortController();
    const decision = this.#admissions.decide(request, disconnected.signal);
    if (!(decision instanceof Promise)) {
      if (decision.admitted) accept(decision);
      else refuse(stream, decision.refusal);
      return;
    }
    const onClose = (): void => disconnected.abort();
    const onError = (): void => void stream.destroy();
    stream.once("close", onClose);
    stream.on("error", onError);
    // `decide` does not reject.
    void decision.then((decided) => {
      stream.off("close", onClose);
      stream.off("error", onError);
      if (stream.destroyed) return;
      if (this.#closing) refuseUpgrade(stream, "503 Service Unavailable", "draining", "the engine is shutting down");
      // The rules changed while the client waited for the decision.
      else if (decided.admitted && !decided.isCurrent())
        refuseUpgrade(
          stream,
          "503 Service Unavailable",
          "draining",
          "the rules for connections changed; connect again",
          { "retry-after": "1" },
        );
      else if (decided.admitted) accept(decided);
      else refuse(stream, decided.refusal);
    });
  }

  /** Connects the client to a channel. Needs no other credential than the channel's key in the query. */
  #openChannel(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const url = new URL(`ws://bridge${request.url ?? "/"}`);
    const id = CHANNEL_PATH.exec(url.pathname)?.[1];
    const key = url.searchParams.get("key");
    const direction = url.searchParams.get("dir");
    if (id === undefined || key === null || (direction !== "read" && direction !== "write")) {
      refuseUpgrade(
        stream,
        "400 Bad Request",
        "invalid_request",
        "a channel is opened at /ws/channels/<channel_id>?key=<access_key>&dir=read, or dir=write",
      );
      return;
    }
    const channel: Channel | undefined = this.#ports.channels.find(id, key, direction);
    if (channel === undefined) {
      refuseUpgrade(stream, "404 Not Found", "NOT_FOUND", "Channel not found");
      return;
    }
    acceptWebSocket(request, stream, head, (socket) => this.#ports.channelSockets.attach(channel, direction, socket));
  }

  #takeTelemetry(socket: FrameSocket, { access, isCurrent }: Admitted): void {
    const principal = access?.grants.principal ?? TRUSTED;
    const { clock, heartbeat } = this.#ports;
    let lastHeardAt = clock.monotonic();
    const heard = (): void => {
      lastHeardAt = clock.monotonic();
    };
    const beating = {
      beat: () => {
        if (clock.monotonic() - lastHeardAt >= DEAD_AFTER_MS) socket.terminate();
        else socket.ping();
      },
    };
    this.#telemetry.set(socket, isCurrent);
    heartbeat.add(beating);
    socket.listen({
      onFrame: (bytes, kind) => {
        heard();
        const signal = kind === "binary" ? signalOfFrame(bytes) : undefined;
        if (signal === undefined) return;
        this.#ports.telemetry.collector?.ingest(signal, bytes.subarray(SIGNAL_PREFIX_BYTES), {
          worker: undefined,
          address: socket.remoteAddress,
          principal,
        });
      },
      onAlive: heard,
      onClosed: () => {
        heartbeat.remove(beating);
        this.#telemetry.delete(socket);
      },
    });
  }
}

function refuse(stream: Duplex, { status, code, message, headers }: Refusal): void {
  refuseUpgrade(stream, status, code, message, headers);
}
