import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";
import { inspectionSchema } from "./inspect.ts";
import { DEFAULT_TAIL, workerStatusSchema } from "./status.ts";
import type { Supervisor } from "./supervisor.ts";
import type { WorkerState } from "./worker-state.ts";

/** Nothing more is to be expected soon of a worker in one of these. */
const SETTLED: readonly WorkerState[] = ["ready", "failed", "crash_looping", "stopped"];

const MAX_WAIT_MS = 900_000;
const MAX_TAIL = 1_000;
const MAX_LOG_WAIT_MS = 30_000;

const name = z.string().min(1).meta({ description: "Name of the worker in the config file" });
const named = z.strictObject({ name });

const listInput = z
  .strictObject({ include_remote: z.boolean().default(false).meta({ description: "Also connected workers that are in no entry of the config file" }) })
  .nullish();

const statusInput = named.extend({
  tail: z.int().min(0).max(MAX_TAIL).default(DEFAULT_TAIL).meta({ description: "How many of the last lines of its output; at most 200 are kept" }),
});

const waitInput = named.extend({
  timeout_ms: z.int().min(0).max(MAX_WAIT_MS).default(120_000).meta({ description: "How long to wait; give the call itself a longer deadline" }),
  on_crash: z.boolean().default(false).meta({ description: "Answer also while a process of it that ended unasked waits to be started again" }),
  until: z
    .enum(["settled", "stopped"])
    .default("settled")
    .meta({ description: "`settled`: it is ready, or cannot become so, or was stopped; `stopped`: none of its processes is left" }),
});

const logsInput = named.extend({
  tail: z.int().min(0).max(MAX_TAIL).default(100).meta({ description: "How many lines at most: the last ones, or with a cursor the next ones" }),
  since_ms: z.int().min(0).optional().meta({ description: "Leaves out older lines; milliseconds since 1970" }),
  stream: z.enum(["out", "err", "install", "svc"]).optional().meta({ description: "Only lines of this one; `svc` is what the engine says of the worker" }),
  cursor: z.string().max(64).optional().meta({ description: "As an answer before had it: only later lines" }),
  wait_ms: z.int().min(0).max(MAX_LOG_WAIT_MS).default(0).meta({ description: "With a cursor: how long to wait for a line when there is none yet" }),
});
export type LogsInput = z.output<typeof logsInput>;

const logsOutput = z.object({
  lines: z
    .array(
      z.object({
        time: z.string().meta({ description: "ISO time" }),
        stream: z.enum(["out", "err", "install", "svc"]),
        replica: z.int().nullable().meta({ description: "Which process wrote it, from 1; null where there is one only" }),
        text: z.string(),
      }),
    )
    .meta({ description: "Newest last" }),
  log_file: z.string().meta({ description: "Absolute path of the file; older lines are in NAME.log.1 and NAME.log.2 beside it" }),
  cursor: z.string().meta({ description: "For the next call" }),
  gap: z
    .boolean()
    .meta({ description: "Lines between the cursor and these are lost: their file was removed, the log having been rotated, before they were asked for" }),
});
export type LogsOutput = z.output<typeof logsOutput>;

/** Functions by which the CLI and the console see and steer the workers of the config file. */
export function provideWorkerFunctions({ provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">, supervisor: Supervisor): void {
  provideFunction({
    id: "worker::list",
    summary: "Lists the workers of the config file, processes and modules, and how they are",
    input: listInput,
    output: z.object({ workers: z.array(workerStatusSchema) }),
    handle: async (input) => ({ workers: await supervisor.list({ includeRemote: input?.include_remote ?? false }) }),
  });
  provideFunction({
    id: "worker::status",
    summary: "Tells how one worker of the config file is, with its last output",
    input: statusInput,
    output: workerStatusSchema,
    handle: (input) => supervisor.status(input.name, { tail: input.tail }),
  });
  provideFunction({
    id: "worker::wait",
    summary: "Answers when the worker is ready or cannot become so, at the latest after the timeout, with its status",
    input: waitInput,
    output: workerStatusSchema,
    handle: (input, { signal }) => {
      const settled = input.on_crash ? [...SETTLED, "backing_off" as const] : SETTLED;
      return supervisor.wait(input.name, { timeoutMs: input.timeout_ms, until: input.until === "stopped" ? ["stopped"] : settled, signal });
    },
  });
  provideFunction({
    id: "worker::start",
    summary: "Starts a worker that was stopped, or one that failed or waits to be started again without waiting; answers at once",
    input: named,
    output: workerStatusSchema,
    handle: (input) => supervisor.steer(input.name, "start"),
  });
  provideFunction({
    id: "worker::stop",
    summary: "Stops the processes of a worker, which then stays stopped until it is started or the engine is; answers at once",
    input: named,
    output: workerStatusSchema,
    handle: (input) => supervisor.steer(input.name, "stop"),
  });
  provideFunction({
    id: "worker::restart",
    summary:
      "Replaces the processes of a worker: a former one is stopped once a new one is ready. Stops them first where dependencies have to be installed, for commands, and with `restart_order: stop_first`; answers at once",
    input: named,
    output: workerStatusSchema,
    handle: (input) => supervisor.steer(input.name, "restart"),
  });
  provideFunction({
    id: "worker::update",
    summary: "Installs the dependencies of a worker again, whether or not they changed, and then restarts it; answers at once",
    input: named,
    output: workerStatusSchema,
    handle: (input) => supervisor.steer(input.name, "update"),
  });
  provideFunction({
    id: "worker::logs",
    summary: "Tells what a worker wrote, from its log files; with a cursor what it has written since, waiting for it when asked to",
    input: logsInput,
    output: logsOutput,
    handle: (input, { signal }) => supervisor.logs(input, signal),
  });
  provideFunction({
    id: "worker::inspect",
    summary: "Tells how a worker is run: its manifest and its entry, put together",
    input: named,
    output: inspectionSchema,
    handle: (input) => supervisor.inspect(input.name),
  });
}
