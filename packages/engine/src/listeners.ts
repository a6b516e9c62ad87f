import type { IncomingMessage } from "node:http";
import type { AccessSettings } from "./access/settings.ts";
import { tokenRequiredAt } from "./config/bind-rule.ts";
import type { ConfigDiff, LoadedConfig } from "./config/index.ts";
import { isLoopback } from "./config/listen-address.ts";
import type { ListenAddress } from "./config/types.ts";
import type { Clock } from "./kernel/clock.ts";
import type { HealthBoard } from "./kernel/health-board.ts";
import type { Logger } from "./kernel/logger.ts";
import type { MountPoints } from "./kernel/module-context.ts";
import { boundUrlOf, isOffLoopback, localUrlOf } from "./listener-addresses.ts";
import type { StreamHub } from "./streams/stream-hub.ts";
import { Bridge, type BridgePorts } from "./transport/bridge.ts";
import { CertificateWatch } from "./transport/certificate-watch.ts";
import type { EngineProof } from "./transport/engine-proof.ts";
import type { AccessRules } from "./transport/guards.ts";
import { HttpApi } from "./transport/http-api.ts";
import type { Listener } from "./transport/listener.ts";
import { openModuleListener } from "./transport/module-listener.ts";
import { Realtime } from "./transport/realtime.ts";
import { type Refusal, TokenGuard } from "./transport/token-guard.ts";

/** URLs for this machine, with the bound ports; `wss` and `https` if the listener has TLS. */
export interface EngineAddresses {
  /** For workers, e.g. `ws://localhost:49134`. */
  readonly bridge: string;
  /** Further listeners for workers (engine.bridges). */
  readonly bridges: readonly string[];
  /** E.g. `http://localhost:3111`. */
  readonly http: string;
  /** E.g. `ws://localhost:3112`. */
  readonly realtime: string;
}

export interface ListenersParts {
  readonly kernel: BridgePorts & { readonly streams: StreamHub; readonly health: HealthBoard };
  readonly token: string;
  readonly proof: EngineProof;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the active config. Read for each request, because it may change. */
  readonly config: () => LoadedConfig;
}

/** All listeners of the engine: created once, bound, moved with the config, and closed together. */
export class Listeners {
  /** The functions that modules use. */
  readonly mounts: MountPoints;
  readonly #config: () => LoadedConfig;
  readonly #log: Logger;
  readonly #clock: Clock;
  /** The listeners for workers. Local workers use the first one. */
  readonly #bridges: readonly [Bridge, ...Bridge[]];
  readonly #http: HttpApi;
  readonly #realtime: Realtime;
  #isServing = false;

  constructor({ kernel, token, proof, clock, log, config }: ListenersParts) {
    this.#config = config;
    this.#log = log;
    this.#clock = clock;
    const settings = (): LoadedConfig["engine"] => config().engine;
    const rules = (): AccessRules => settings();
    const guard = new TokenGuard(token);
    const maxConnectionsPerAddress = (): number | undefined => settings().maxConnectionsPerAddress;
    const bridge = (what: string, access: () => AccessSettings, more: { readonly proof?: EngineProof } = {}): Bridge =>
      new Bridge(kernel, rules, { what, guard, settings: access, maxConnectionsPerAddress, ...more });
    const tokenRefusalAt =
      (address: () => ListenAddress) =>
      (request: IncomingMessage): Refusal | undefined =>
        guard.refusal(request, { required: tokenRequiredAt(address(), settings()) });
    this.#bridges = [
      bridge("workers", () => settings().bridgeAccess, { proof }),
      ...settings().bridges.map((listener, index) =>
        bridge("workers of engine.bridges", () => (settings().bridges[index] ?? listener).access),
      ),
    ];
    this.#http = new HttpApi(log, rules, {
      tokenRefusal: tokenRefusalAt(() => config().http),
      takesAnyHost: (isConsole) =>
        !isLoopback(config().http.host) && (!isConsole || tokenRequiredAt(config().http, settings())),
      isTrusted: (request) => guard.isHolder(request),
      maxConnectionsPerAddress,
      health: () => kernel.health.read(),
    });
    const realtimeToken = tokenRefusalAt(() => config().realtime);
    this.#realtime = new Realtime(clock, rules, log, kernel.streams, {
      // If the provider of streams authenticates clients itself, they may have other credentials than the engine's
      // token.
      tokenRefusal: (request) => (kernel.streams.authenticates ? undefined : realtimeToken(request)),
      isReady: () => this.#isServing,
      isTrusted: (request) => guard.isHolder(request),
      maxConnectionsPerAddress,
    });
    this.mounts = {
      mountHttp: (mount) => this.#http.mount(mount),
      listen: (options) =>
        openModuleListener(options, {
          access: rules,
          tokenRefusal: (request, host) => guard.refusal(request, { required: tokenRequiredAt({ host }, settings()) }),
          maxConnectionsPerAddress,
          log,
        }),
      reportReadiness: (problem) => this.#http.reportReadiness(problem),
    };
  }

  /** URLs for this machine. */
  get addresses(): EngineAddresses {
    return this.#addresses(localUrlOf);
  }

  /** URLs for people, with hosts that other machines can reach. */
  get boundTo(): EngineAddresses {
    return this.#addresses(boundUrlOf);
  }

  /** Rejects with ListenError for the first listener that cannot be bound. */
  async bind(config: LoadedConfig): Promise<void> {
    const [bridge, ...further] = this.#bridges;
    await bridge.listener.bind(config.engine.bridge);
    for (const [index, { listener }] of further.entries()) {
      const address = config.engine.bridges[index]?.address;
      if (address !== undefined) await listener.bind(address);
    }
    await this.#http.listener.bind(config.http);
    await this.#realtime.listener.bind(config.realtime);
  }

  /**
   * Moves listeners to their new addresses. Adds an undo for each move to `undoMoves`. If a move fails, its listener
   * keeps its address.
   */
  async move({ http, realtime }: ConfigDiff, undoMoves: (() => Promise<void>)[]): Promise<void> {
    for (const [listener, change] of [
      [this.#http.listener, http],
      [this.#realtime.listener, realtime],
    ] as const) {
      if (change === undefined) continue;
      const boundAt = { ...change.before, port: listener.port };
      await listener.bind(change.after);
      undoMoves.push(() => listener.bind(boundAt));
    }
  }

  /** Checks the certificate files at intervals. Returns a function that stops the checks. */
  watchCertificates(): () => void {
    return new CertificateWatch({
      clock: this.#clock,
      listeners: this.#all().map(({ listener }) => listener),
      onRenewed: () => this.reloadCertificates(),
    }).start();
  }

  /** Reloads renewed certificates: within a minute, and at each change of the config file. */
  reloadCertificates(): void {
    for (const { listener } of [this.#http, this.#realtime, ...this.#bridges]) {
      try {
        listener.reloadTls();
      } catch (error) {
        this.#log.error("a certificate could not be read again; the one in use stays", { error });
      }
    }
  }

  /** Returns the URLs that other machines can reach, for the log; nothing if there are none. */
  exposure(): { readonly exposed?: readonly string[] } {
    const exposed = this.#all().filter(({ listener }) => isOffLoopback(listener));
    return exposed.length === 0 ? {} : { exposed: exposed.map(({ scheme, listener }) => boundUrlOf(scheme, listener)) };
  }

  warnOfOpenListeners(): void {
    if (!this.#config().engine.insecureBind) return;
    const open = this.#all().filter(({ listener, isOpen }) => isOffLoopback(listener) && isOpen);
    if (open.length === 0) return;
    const named = open.map(({ scheme, listener }) => boundUrlOf(scheme, listener)).join(", ");
    this.#log.warn(
      `listeners off loopback require no token (insecure_bind), so every client that reaches them can run functions: ${named}`,
    );
  }

  /** Closes connections that were accepted by rules that have changed. Returns their number. */
  dropOutdated(): number {
    return this.#bridges.reduce((dropped, bridge) => dropped + bridge.dropOutdated(), 0);
  }

  /** Starts to accept workers, which had to wait, and clients of streams. Called when every module has started. */
  startServing(): void {
    this.#isServing = true;
    for (const bridge of this.#bridges) bridge.startServing();
    this.#http.startServing();
  }

  /** Refuses new HTTP requests and clients of streams from now on. */
  startDraining(): void {
    this.#isServing = false;
    this.#http.startDraining();
  }

  /** Closes every connection. */
  close(): void {
    this.#realtime.closeAll();
    const listening = [this.#http, this.#realtime, ...this.#bridges];
    for (const { listener } of listening) listener.stopAccepting();
    // Connections are dropped in the same turn of the event loop in which the ports are closed. Otherwise a published
    // client could reconnect while a port is still open, be refused, and never try again.
    for (const bridge of this.#bridges) bridge.dropAll();
    for (const { listener } of listening) listener.close();
  }

  #addresses(shown: typeof localUrlOf): EngineAddresses {
    const [bridge, ...further] = this.#bridges.map(({ listener }) => shown("ws", listener)) as [string, ...string[]];
    return {
      bridge,
      bridges: further,
      http: shown("http", this.#http.listener),
      realtime: shown("ws", this.#realtime.listener),
    };
  }

  /** Returns all listeners. `isOpen` is true if clients without a token are accepted without access rules. */
  #all(): { readonly scheme: "ws" | "http"; readonly listener: Listener; readonly isOpen: boolean }[] {
    const { engine, http, realtime } = this.#config();
    const accessOf = (index: number): AccessSettings | undefined =>
      index === 0 ? engine.bridgeAccess : engine.bridges[index - 1]?.access;
    return [
      ...this.#bridges.map(({ listener }, index) => {
        const access = accessOf(index);
        return {
          scheme: "ws" as const,
          listener,
          isOpen: access !== undefined && !access.tokenRequired && access.rbac === undefined,
        };
      }),
      { scheme: "http", listener: this.#http.listener, isOpen: !tokenRequiredAt(http, engine) },
      { scheme: "ws", listener: this.#realtime.listener, isOpen: !tokenRequiredAt(realtime, engine) },
    ];
  }
}
