import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";
import { inspectionSchema } from "./inspect-worker.ts";
import { logsOptions, logsOutput, MAX_TAIL } from "./logs/read-logs.ts";
import { DEFAULT_TAIL, workerStatusSchema } from "./status.ts";
import type { Supervisor } from "./supervisor.ts";
import type { WorkerState } from "./worker-state.ts";

/** States that do not change soon without outside help. */
const SETTLED: readonly WorkerState[] = ["ready", "failed", "crash_looping", "stopped"];

const MAX_WAIT_MS = 900_000;

const name = z.string().min(1).meta({ description: "Name of the worker in the config file" });
const named = z.strictObject({ name });

const listInput = z
  .strictObject({
    include_remote: z
      .boolean()
      .default(false)
      .meta({ description: "Also list connected workers that are not in the config file" }),
  })
  .nullish();

const statusInput = named.extend({
  tail: z
    .int()
    .min(0)
    .max(MAX_TAIL)
    .default(DEFAULT_TAIL)
    .meta({ description: "Number of last output lines. At most 200 are stored" }),
});

const waitInput = named.extend({
  timeout_ms: z
    .int()
    .min(0)
    .max(MAX_WAIT_MS)
    .default(120_000)
    .meta({ description: "Maximum wait, in milliseconds. The call itself needs a longer timeout" }),
  on_crash: z
    .boolean()
    .default(false)
    .meta({ description: "Also return while a crashed process waits for its restart" }),
  until: z.enum(["settled", "stopped"]).default("settled").meta({
    description: "`settled`: it is ready, cannot become ready, or is stopped. `stopped`: it has no process left",
  }),
});

/** Provides the functions with which the CLI and the console show and control the workers of the config file. */
export function provideWorkerFunctions(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  supervisor: Supervisor,
): void {
  provideFunction({
    id: "worker::list",
    polled: true,
    summary: "Lists the workers and modules of the config file with their status",
    input: listInput,
    output: z.object({ workers: z.array(workerStatusSchema) }),
    handle: async (input) => ({ workers: await supervisor.list({ includeRemote: input?.include_remote ?? false }) }),
  });
  provideFunction({
    id: "worker::status",
    polled: true,
    summary: "Returns the status of a worker of the config file, with its last output",
    input: statusInput,
    output: workerStatusSchema,
    handle: (input) => supervisor.status(input.name, { tail: input.tail }),
  });
  provideFunction({
    id: "worker::wait",
    polled: true,
    summary: "Waits until the worker is ready or cannot become ready, or until the timeout, and returns its status",
    input: waitInput,
    output: workerStatusSchema,
    handle: (input, { signal }) => {
      const settled = input.on_crash ? [...SETTLED, "backing_off" as const] : SETTLED;
      return supervisor.wait(input.name, {
        timeoutMs: input.timeout_ms,
        until: input.until === "stopped" ? ["stopped"] : settled,
        signal,
      });
    },
  });
  provideFunction({
    id: "worker::start",
    summary: "Starts a worker that is stopped, failed or waiting for its restart; returns at once",
    input: named,
    output: workerStatusSchema,
    handle: (input) => supervisor.control(input.name, "start"),
  });
  provideFunction({
    id: "worker::stop",
    summary:
      "Stops the processes of a worker, which stays stopped until it is started or the engine restarts; returns at once",
    input: named,
    output: workerStatusSchema,
    handle: (input) => supervisor.control(input.name, "stop"),
  });
  provideFunction({
    id: "worker::restart",
    summary:
      "Replaces the processes of a worker: each previous process stops when its new one is ready. If dependencies must be installed, for commands, and with `overlap: false`, they stop first; returns at once",
    input: named,
    output: workerStatusSchema,
    handle: (input) => supervisor.control(input.name, "restart"),
  });
  provideFunction({
    id: "worker::update",
    summary: "Reinstalls the dependencies of a worker and then restarts it; returns at once",
    input: named,
    output: workerStatusSchema,
    handle: (input) => supervisor.control(input.name, "update"),
  });
  provideFunction({
    id: "worker::logs",
    polled: true,
    summary:
      "Returns lines of a worker's log files: the last ones, or with a cursor the next ones, for which it can wait",
    input: named.extend(logsOptions.shape),
    output: logsOutput,
    handle: (input, { signal }) => supervisor.logs(input.name, input, signal),
  });
  provideFunction({
    id: "worker::inspect",
    summary: "Returns how a worker is run: its manifest combined with its entry",
    input: named,
    output: inspectionSchema,
    handle: (input) => supervisor.inspect(input.name),
  });
}
