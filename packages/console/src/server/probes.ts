import { connect as openSocket } from "node:net";
import type { Probe } from "../contract/api.ts";
import { type EngineHttp, toEngine, unreachable } from "./engine-http.ts";
import { type EngineLink, readableReason } from "./engine-link.ts";

const CHECK_INTERVAL_MS = 10_000;
const TIMEOUT_MS = 3_000;
const MAX_HEALTH_CHARS = 10_000;

type Finding = Pick<Probe, "status" | "latency_ms" | "reason">;

export interface ProbeTargets {
  readonly link: EngineLink;
  readonly http: EngineHttp;
  /** URLs of the ports. */
  readonly bridge: string;
  readonly realtime: string;
  readonly console: () => string;
}

/**
 * Checks whether the ports of the engine can be reached, each separately. It does so every ten seconds and on request.
 */
export class Probes {
  readonly #targets: ProbeTargets;
  readonly #lastOkMs = new Map<Probe["name"], number>();
  #found: readonly Probe[] | undefined;
  #running: Promise<readonly Probe[]> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(targets: ProbeTargets) {
    this.#targets = targets;
    this.#timer = setInterval(() => void this.run(), CHECK_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Returns the latest results. If there are none yet, waits for the first ones. */
  latest(): Promise<readonly Probe[]> {
    return this.#found === undefined ? this.run() : Promise.resolve(this.#found);
  }

  /** Checks now. Concurrent callers share one check. Never rejects. */
  run(): Promise<readonly Probe[]> {
    this.#running ??= this.#check().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<readonly Probe[]> {
    const { link, http, bridge, realtime } = this.#targets;
    this.#found = await Promise.all([
      this.#probe("engine_http", http.url, probeHttp(http)),
      this.#probe("engine_realtime", realtime, probePort(realtime, link, "realtime")),
      this.#probe("engine_bridge", bridge, probePort(bridge, link, "bridge")),
      this.#probe("console", this.#targets.console(), Promise.resolve({ status: "ok", latency_ms: 0, reason: null })),
    ]);
    return this.#found;
  }

  async #probe(name: Probe["name"], url: string, finding: Promise<Finding>): Promise<Probe> {
    const found = await finding;
    const checkedAtMs = Date.now();
    if (found.status === "ok") this.#lastOkMs.set(name, checkedAtMs);
    return { name, url, ...found, checked_at_ms: checkedAtMs, last_ok_at_ms: this.#lastOkMs.get(name) ?? null };
  }
}

/** Requests `/healthz`. Its response shows whether the program is an engine. */
function probeHttp(engine: EngineHttp): Promise<Finding> {
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const token = engine.token();
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const request = toEngine(engine, { method: "GET", path: "/healthz", headers });
    const timer = setTimeout(() => request.destroy(new Error(`no response within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    request.on("close", () => clearTimeout(timer));
    request.on("response", (answer) => {
      const latencyMs = performance.now() - startedMs;
      const status = answer.statusCode ?? 0;
      const refused = (reason: string): void => resolve({ status: "refused", latency_ms: latencyMs, reason });
      let body = "";
      answer.setEncoding("utf8").on("data", (text: string) => {
        body += text;
        if (body.length > MAX_HEALTH_CHARS) request.destroy(new Error("the response is too long for an engine"));
      });
      answer.on("error", () => refused("the response was aborted"));
      answer.on("end", () => {
        if (status !== 200) refused(`GET /healthz returned ${status} ${answer.statusMessage ?? ""}`.trim());
        else if (isHealth(body)) resolve({ status: "ok", latency_ms: latencyMs, reason: null });
        else refused("something responds there, but not like an engine");
      });
    });
    request.on("error", (error) =>
      resolve({ status: "unreachable", latency_ms: null, reason: unreachable(engine, error).replace(/^.*?: /, "") }),
    );
    request.end();
  });
}

function isHealth(body: string): boolean {
  try {
    return (JSON.parse(body) as { readonly status?: unknown } | null)?.status === "ok";
  } catch {
    return false;
  }
}

/**
 * Checks that the port accepts connections, and that the console is connected to it. The second check is needed because
 * another program may listen on the port.
 */
async function probePort(url: string, link: EngineLink, port: "bridge" | "realtime"): Promise<Finding> {
  const { hostname, port: number } = new URL(url);
  const startedMs = performance.now();
  const problem = await new Promise<string | undefined>((resolve) => {
    const socket = openSocket({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(number) || 80 });
    socket.setTimeout(TIMEOUT_MS, () => {
      resolve(`no response within ${TIMEOUT_MS / 1000} s`);
      socket.destroy();
    });
    socket.once("connect", () => {
      resolve(undefined);
      socket.destroy();
    });
    socket.once("error", (error: NodeJS.ErrnoException & { readonly errors?: readonly NodeJS.ErrnoException[] }) => {
      const cause = error.errors?.[0] ?? error;
      resolve(readableReason(cause.code ?? cause.message));
    });
  });
  if (problem !== undefined) return { status: "unreachable", latency_ms: null, reason: problem };
  const latencyMs = performance.now() - startedMs;
  const { state, reason } = link.port(port);
  if (state === "connected") return { status: "ok", latency_ms: latencyMs, reason };
  return {
    status: "refused",
    latency_ms: latencyMs,
    reason: reason ?? "something listens there, but the console is not connected yet",
  };
}
