import { FEATURES } from "@svc/protocol";
import type { Greeting, WorkerOptions } from "./options.ts";
import { VERSION } from "./version.ts";

/** What a worker says about itself to the engine. */
export function introductionOf(name: string, options: WorkerOptions, greeting: Greeting, sendsLogs: boolean): Readonly<Record<string, unknown>> {
  return {
    runtime: greeting.runtime,
    version: VERSION,
    name,
    description: options.description,
    os: greeting.os,
    pid: greeting.pid,
    isolation: greeting.isolation ?? null,
    telemetry: { language: greeting.language, framework: greeting.framework },
    kind: options.kind ?? "worker",
    features: sendsLogs ? FEATURES : FEATURES.filter((feature) => feature !== "logs"),
  };
}
