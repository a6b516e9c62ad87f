import { CallError } from "@svc-runtime/protocol";
import type { NodeListing } from "@svc-runtime/protocol/listings";
import { VERSION, type Worker } from "@svc-runtime/sdk";
import { withEngine } from "../engine/engine-session.ts";
import { CommandFailure, EXIT } from "../exit-codes.ts";
import { listWorkers, type WorkerReport } from "../workers/worker-functions.ts";
import type { Check, CheckContext, Finding } from "./finding.ts";
import { clusterNodes, findingsOf } from "./nodes.ts";
import { queueFindings } from "./queues.ts";
import { triggerFindings } from "./triggers.ts";

/**
 * Maximum clock difference, in milliseconds. With a larger one, deadlines, tokens and traces of the two machines do not
 * match.
 */
const MAX_SKEW_MS = 2000;

interface EngineInfo {
  readonly version: string;
  readonly addresses: { readonly http: string };
}

/**
 * Checks the running engine: it responds and is ready; it has this version and the same time; the engines of its
 * cluster agree; its workers are ready, its triggers are active, and its jobs can run.
 */
export const engine: Check = async (context) => {
  const { address } = context;
  try {
    return await withEngine(address, "svc doctor", async (worker, reached) => {
      const info = await worker.call<EngineInfo>({ function_id: "engine::info", payload: {} });
      const responds: Finding = {
        check: "engine",
        status: "ok",
        message: `${info.version} responds at ${reached.shownUrl}`,
      };
      const nodes = await clusterNodes(worker);
      return [
        responds,
        ...versionFinding(info),
        ...(await readiness(info, { ...context, address: reached }, nodes)),
        ...nodes.flatMap((node) => findingsOf(node, nodes)),
        ...(await workerFindings(worker)),
        ...(await triggerFindings(worker)),
        ...(await queueFindings(worker)),
      ];
    });
  } catch (error) {
    if (error instanceof CommandFailure) return [unreachable(error, context)];
    if (CallError.is(error))
      return [
        { check: "engine", status: "problem", message: `${address.shownUrl} rejected a request: ${error.message}` },
      ];
    throw error;
  }
};

/**
 * Returns the finding about an engine that cannot be reached. It is a problem only if the user gave the address or the
 * engine announced itself. Otherwise it is a warning, because maybe no engine should run.
 */
function unreachable(failure: CommandFailure, { address, isRunning }: CheckContext): Finding {
  const isExpected =
    isRunning || address.from === "--url" || address.from === "SVC_URL" || failure.exitCode !== EXIT.noEngine;
  return {
    check: "engine",
    status: isExpected ? "problem" : "warning",
    message: failure.message,
    remedy: failure.advice[0],
  };
}

function versionFinding({ version }: EngineInfo): readonly Finding[] {
  if (version === VERSION) return [];
  return [
    {
      check: "version",
      status: "warning",
      message: `the engine is ${version}, this command ${VERSION}`,
      remedy: "Use the same version of svc for both",
    },
  ];
}

async function readiness(
  { addresses }: EngineInfo,
  { address, signal }: CheckContext,
  nodes: readonly NodeListing[],
): Promise<readonly Finding[]> {
  const sentAtMs = Date.now();
  let response: Response;
  try {
    response = await fetch(new URL("/readyz", reachableFrom(addresses.http, address.url)), { signal });
  } catch (error) {
    signal.throwIfAborted();
    return [
      {
        check: "readiness",
        status: "warning",
        message: `its HTTP listener at ${addresses.http} does not respond: ${(error as Error).message}`,
      },
    ];
  }
  const receivedAtMs = Date.now();
  const body = (await response.json().catch(() => ({}))) as { readonly reasons?: readonly unknown[] };
  const ready: Finding = response.ok
    ? { check: "readiness", status: "ok", message: "ready (/readyz)" }
    : notReady(response.status, body.reasons ?? [], nodes);
  return [ready, ...clockFinding(response.headers.get("date"), sentAtMs, receivedAtMs)];
}

const DRAINED = /^the engine is (?:draining|drained)\b/;

/** An engine that is drained, and nothing else, is not ready on purpose. Exported for tests. */
export function notReady(status: number, reasons: readonly unknown[], nodes: readonly NodeListing[]): Finding {
  const own = nodes.find(({ self }) => self);
  // The readiness of an engine that is stopping has a reason more.
  const isDrained =
    (own?.state === "draining" || own?.state === "drained") &&
    reasons.every((reason) => typeof reason === "string" && DRAINED.test(reason));
  const shown = reasons.map((reason) => (typeof reason === "string" ? reason : JSON.stringify(reason))).join(", ");
  return {
    check: "readiness",
    status: isDrained ? "warning" : "problem",
    message: `not ready (/readyz, HTTP ${status}): ${shown}`,
    remedy: isDrained
      ? `To take it back: svc nodes undrain ${own.name}`
      : "See the engine's log, and: svc trigger --function-id=engine::health::check",
  };
}

/**
 * Returns the engine's HTTP address with the host of the bridge. The engine reports a loopback address, which is not
 * reachable from another machine.
 */
function reachableFrom(http: string, bridge: string): URL {
  const url = new URL(http);
  url.hostname = new URL(bridge).hostname;
  return url;
}

/**
 * Compares the engine's clock with this machine's. `date` is truncated to whole seconds, so a second of difference is
 * tolerated.
 */
export function clockFinding(date: string | null, sentAtMs: number, receivedAtMs: number): readonly Finding[] {
  const engineMs = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(engineMs)) return [];
  const aheadMs = Math.max(0, engineMs - receivedAtMs);
  const behindMs = Math.max(0, sentAtMs - (engineMs + 999));
  const skewMs = Math.max(aheadMs, behindMs);
  if (skewMs <= MAX_SKEW_MS) return [{ check: "clock", status: "ok", message: "the engine has the same time" }];
  const direction = aheadMs > 0 ? "ahead of" : "behind";
  return [
    {
      check: "clock",
      status: "warning",
      message: `the engine's clock is ${(skewMs / 1000).toFixed(1)} s ${direction} this machine's`,
      remedy: "Synchronise both clocks with NTP: timedatectl set-ntp true",
    },
  ];
}

async function workerFindings(worker: Worker): Promise<readonly Finding[]> {
  const workers = await listWorkers(worker);
  return workers.map(workerFinding);
}

const TRANSITIONAL: ReadonlySet<string> = new Set(["installing", "starting", "stopping"]);

function workerFinding({ name, state, reason, problem, log_file, last_exit }: WorkerReport): Finding {
  const check = `worker ${name}`;
  if (state === "ready" && problem !== null) {
    return {
      check,
      status: "warning",
      message: `ready, but its previous processes keep running: ${problem}`,
      remedy: `Correct it, then: svc worker restart ${name}. More: svc worker status ${name}`,
    };
  }
  if (state === "ready") return { check, status: "ok", message: "ready" };
  // This is the last line of the process itself. The last line of the log file is a note of the engine that repeats the
  // reason.
  const last = last_exit?.lines.at(-1);
  const message = [
    state,
    ...(reason === null ? [] : [reason]),
    ...(last === undefined ? [] : [`last line: ${last}`]),
  ].join("; ");
  if (TRANSITIONAL.has(state)) return { check, status: "warning", message };
  return {
    check,
    status: state === "stopped" ? "warning" : "problem",
    message,
    remedy: log_file === null ? undefined : `See its output: ${log_file}`,
  };
}
