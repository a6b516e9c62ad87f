import type { Module } from "../kernel/module.ts";
import { cron } from "./cron/index.ts";
import { event } from "./event/index.ts";
import { exec } from "./exec/index.ts";
import { httpModule } from "./http/index.ts";
import { observability } from "./observability/index.ts";
import { queue } from "./queue/index.ts";
import { state } from "./state/index.ts";
import { stream } from "./stream/index.ts";

/** Modules that a config file may name; one line each. */
export const configurableModules: readonly Module[] = [
  httpModule,
  state,
  stream,
  event,
  cron,
  queue,
  exec,
  observability,
];
