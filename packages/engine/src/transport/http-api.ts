import type { IncomingMessage, ServerResponse } from "node:http";
import type { ComponentReport } from "../kernel/health-contract.ts";
import type { Logger } from "../kernel/logger.ts";
import type { HttpMount } from "../kernel/module.ts";
import type { Undo } from "../kernel/scope.ts";
import { CONSOLE_HEADERS, consoleRefusal, isConsolePath } from "./console-guard.ts";
import { type AccessRules, misdirection } from "./guards.ts";
import { Listener, REQUEST_TIMEOUT_MS, sendError, sendJson } from "./listener.ts";
import type { ListenerAccess } from "./realtime.ts";

export interface HttpAccess extends ListenerAccess {
  /** Returns true if any Host header is accepted. Default: never. */
  readonly takesAnyHost?: (isConsole: boolean) => boolean;
  /** Returns the health of components, for `/readyz`. Default: none. */
  readonly health?: () => readonly ComponentReport[];
}

/** The engine's HTTP listener: health, readiness and the mounts of modules. */
export class HttpApi {
  readonly listener: Listener;
  readonly #rules: () => AccessRules;
  readonly #access: HttpAccess;
  readonly #log: Logger;
  readonly #mounts: HttpMount[] = [];
  readonly #readiness = new Set<() => string | undefined>();
  #draining = false;
  #isStarting = true;

  constructor(log: Logger, rules: () => AccessRules, access: HttpAccess = {}) {
    this.#access = access;
    this.#rules = rules;
    this.#log = log;
    this.listener = new Listener({
      what: "HTTP",
      // There is no limit here, because a streamed body may take long, and only the mount knows whether the body is
      // streamed. `boundBody` limits the time of all other bodies.
      requestTimeoutMs: 0,
      onRequest: (request, response) => this.#respond(request, response),
      ...(access.maxConnectionsPerAddress === undefined
        ? {}
        : { maxConnectionsPerAddress: access.maxConnectionsPerAddress }),
    });
  }

  mount(mount: HttpMount): Undo {
    this.#mounts.push(mount);
    this.#mounts.sort((a, b) => b.prefix.length - a.prefix.length);
    return () => {
      const at = this.#mounts.indexOf(mount);
      if (at !== -1) this.#mounts.splice(at, 1);
    };
  }

  reportReadiness(problem: () => string | undefined): Undo {
    const own = (): string | undefined => problem();
    this.#readiness.add(own);
    return () => this.#readiness.delete(own);
  }

  /** Starts serving. Until then `/readyz` and unknown paths respond with 503. */
  startServing(): void {
    this.#isStarting = false;
  }

  /** From this call on, `/readyz` responds with 503, and each connection is closed after its response. */
  startDraining(): void {
    this.#draining = true;
  }

  #respond(request: IncomingMessage, response: ServerResponse): void {
    if (this.#draining) response.setHeader("connection", "close");
    const path = pathOf(request.url ?? "/");
    const mount = this.#admit(request, response, path);
    // The body is limited even if no mount gets the request, because it may still arrive after an immediate response.
    if (mount?.boundsBodies !== true) boundBody(request, response);
    if (mount === undefined) return;
    try {
      const handled = mount.handle(request, response, path);
      if (handled instanceof Promise) handled.catch((error: unknown) => this.#failed(error, response, path));
    } catch (error) {
      this.#failed(error, response, path);
    }
  }

  #failed(error: unknown, response: ServerResponse, path: string): void {
    this.#log.error("an HTTP handler failed", { path, error });
    if (response.headersSent) response.destroy();
    else sendError(response, 500, "invocation_error", "the engine failed to respond; its log has the reason");
  }

  /** Returns the mount for the request, or undefined if a response was already sent. */
  #admit(request: IncomingMessage, response: ServerResponse, path: string): HttpMount | undefined {
    const { host } = request.headers;
    const isConsole = isConsolePath(path);
    // On other addresses than loopback, clients may use any name for this machine, so Host is not checked. For the
    // console's paths, Host is checked unless they require the token.
    const isForAnyHost = (this.#access.takesAnyHost?.(isConsole) ?? false) === true;
    const misdirected = isForAnyHost ? undefined : misdirection(request, this.listener.port, this.#rules());
    if (misdirected !== undefined) {
      sendError(response, 421, "misdirected_request", misdirected);
      return undefined;
    }
    if (isConsole) {
      for (const [name, value] of CONSOLE_HEADERS) response.setHeader(name, value);
      const refusal =
        this.#access.tokenRefusal?.(request) ?? consoleRefusal(request, this.#rules(), ownOrigin(this.listener, host));
      if (refusal !== undefined) {
        sendError(response, Number(refusal.status.slice(0, 3)), refusal.code, refusal.message, { ...refusal.headers });
        return undefined;
      }
    }
    if (path === "/healthz" || path === "/readyz") {
      this.#health(request, response, path);
      return undefined;
    }
    // Only new requests are rejected. Requests in flight and their calls continue.
    if (this.#draining) {
      sendError(response, 503, "draining", "the engine is shutting down", { "retry-after": "1" });
      return undefined;
    }
    // While the engine starts, no worker is connected, so there are no routes.
    if (this.#isStarting && !isConsole) {
      sendError(response, 503, "starting", "the engine is starting; try again shortly", { "retry-after": "1" });
      return undefined;
    }
    const mount = this.#mounts.find(({ prefix }) => path.startsWith(prefix));
    if (mount === undefined) {
      sendError(
        response,
        404,
        "NOT_FOUND",
        `nothing is served at ${path}; to serve functions over HTTP: svc worker add svc-http`,
      );
    }
    return mount;
  }

  #health(request: IncomingMessage, response: ServerResponse, path: "/healthz" | "/readyz"): void {
    if (request.method !== "GET" && request.method !== "HEAD") {
      sendError(response, 405, "method_not_allowed", `${path} takes GET`, { allow: "GET, HEAD" });
      return;
    }
    if (path === "/healthz") {
      sendJson(response, 200, { status: "ok" });
      return;
    }
    const reasons = [...this.#readiness].map((problem) => problem()).filter((reason) => reason !== undefined);
    if (this.#isStarting) reasons.unshift("starting: not all modules are open yet");
    if (this.#draining) reasons.unshift("the engine is shutting down");
    // Details may name folders and other servers, so only clients with the token see them. Others can use
    // engine::health::check.
    const showsDetails = this.#access.isTrusted?.(request) ?? false;
    const failing = (this.#access.health?.() ?? []).filter(
      ({ status }) => status === "degraded" || status === "unhealthy",
    );
    for (const { component, status, details } of failing)
      if (status === "unhealthy") reasons.push(`${component}: ${showsDetails ? details : status}`);
    const components = failing.map(({ component, status, details, sinceMs }) =>
      showsDetails ? { component, status, details, since_ms: sinceMs } : { component, status },
    );
    const body = components.length === 0 ? {} : { components };
    if (reasons.length === 0) sendJson(response, 200, { status: "ready", ...body });
    else sendJson(response, 503, { status: "not_ready", reasons, ...body }, { "retry-after": "1" });
  }
}

/** Disconnects a client that takes too long to send its body. */
function boundBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers["transfer-encoding"] === undefined && Number(request.headers["content-length"] ?? 0) === 0)
    return;
  const timer = setTimeout(() => {
    if (request.complete) return;
    if (!response.headersSent)
      sendError(response, 408, "request_timeout", "the request did not arrive in time", { connection: "close" });
    response.once("finish", () => request.socket.destroy());
    if (response.writableFinished) request.socket.destroy();
  }, REQUEST_TIMEOUT_MS);
  timer.unref();
  request.once("close", () => clearTimeout(timer));
}

/** Returns the path of a request target as sent, without the query. The target may be a whole URL (absolute form). */
function pathOf(target: string): string {
  if (target.startsWith("/") && !target.includes("#")) {
    const mark = target.indexOf("?");
    return mark === -1 ? target : target.slice(0, mark);
  }
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target);
  const rest = absolute === null ? target : target.slice(absolute[0].length);
  const path = rest.split(/[?#]/, 1)[0] ?? "";
  return path === "" ? "/" : path;
}

/** Returns the origin of the pages that this listener serves. */
function ownOrigin({ isTls }: Listener, host: string | undefined): string {
  return `${isTls ? "https" : "http"}://${(host ?? "").toLowerCase()}`;
}
