import { FEATURES } from "@svc-runtime/protocol/client";
import type { RuntimeInfo, WorkerOptions } from "../options.ts";
import { VERSION } from "../version.ts";

/** Returns the payload with which a worker introduces itself to the engine. */
export function introductionOf(
  name: string,
  options: WorkerOptions,
  runtimeInfo: RuntimeInfo,
  sendsLogs: boolean,
): Readonly<Record<string, unknown>> {
  return {
    runtime: runtimeInfo.runtime,
    version: VERSION,
    name,
    description: options.description,
    os: runtimeInfo.os,
    pid: runtimeInfo.pid,
    isolation: runtimeInfo.isolation ?? null,
    telemetry: { language: runtimeInfo.language, framework: runtimeInfo.framework },
    kind: options.kind ?? "worker",
    features: sendsLogs ? FEATURES : FEATURES.filter((feature) => feature !== "logs"),
  };
}
