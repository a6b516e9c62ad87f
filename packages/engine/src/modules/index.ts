import type { Module } from "../kernel/module.ts";
import { cron } from "./cron/index.ts";
import { event } from "./event/index.ts";
import { exec } from "./exec/index.ts";
import { httpModule } from "./http/index.ts";
import { queue } from "./queue/index.ts";
import { state } from "./state/index.ts";
import { stream } from "./stream/index.ts";

/** Modules of this package that a config file may name. */
const ownModules: readonly Module[] = [httpModule, state, stream, event, cron, queue, exec];

/**
 * The module in the package `@svc-runtime/observability`. Every engine runs it, even if its config does not name it.
 */
export const OBSERVABILITY = "svc-observability";

let loaded: readonly Module[] | undefined;

/**
 * Resolves with the modules that a config file may name, always the same list. Rejects if the package
 * `@svc-runtime/observability` is not installed.
 */
export async function loadModules(): Promise<readonly Module[]> {
  const { default: observability } = await import("@svc-runtime/observability");
  loaded ??= [...ownModules, observability];
  return loaded;
}
