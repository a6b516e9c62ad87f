import type { Command } from "commander";
import type { Shell } from "../shell.ts";
import { clusterCommand } from "./cluster.ts";
import { completionCommand } from "./completion.ts";
import { configCommand } from "./config.ts";
import { consoleCommand } from "./console.ts";
import { createCommand } from "./create.ts";
import { cronCommand } from "./cron.ts";
import { devCommand } from "./dev.ts";
import { doctorCommand } from "./doctor.ts";
import { eventCommand } from "./event.ts";
import { functionsCommand } from "./functions.ts";
import { generateCommand } from "./generate.ts";
import { logsCommand } from "./logs.ts";
import { mcpCommand } from "./mcp.ts";
import { metricsCommand } from "./metrics.ts";
import { nodesCommand } from "./nodes.ts";
import { queueCommand } from "./queue.ts";
import { stateCommand } from "./state.ts";
import { tracesCommand } from "./traces.ts";
import { triggerCommand } from "./trigger.ts";
import { triggersCommand } from "./triggers.ts";
import { workerCommand } from "./worker.ts";
import { workersCommand } from "./workers.ts";

/** All commands of `svc`, in the order of the help. Without a command, `svc` runs the engine. */
export const commands: readonly ((shell: Shell) => Command)[] = [
  createCommand,
  devCommand,
  workerCommand,
  triggerCommand,
  functionsCommand,
  triggersCommand,
  workersCommand,
  nodesCommand,
  stateCommand,
  queueCommand,
  eventCommand,
  cronCommand,
  logsCommand,
  tracesCommand,
  metricsCommand,
  consoleCommand,
  configCommand,
  clusterCommand,
  doctorCommand,
  generateCommand,
  mcpCommand,
  completionCommand,
];
