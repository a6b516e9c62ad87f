import { z } from "zod";
import type { FunctionSpec } from "../../kernel/module.ts";
import { workerStatusSchema } from "./status.ts";
import type { Supervisor } from "./supervisor.ts";
import type { WorkerState } from "./worker-state.ts";

/** Nothing more is to be expected soon of a worker in one of these. */
const SETTLED: readonly WorkerState[] = ["ready", "failed", "crash_looping"];

const MAX_WAIT_MS = 900_000;

const named = z.object({ name: z.string().min(1).meta({ description: "Name of the worker in the config file" }) });

const workerList = {
  input: z.object({}).nullish().meta({ description: "Nothing" }),
  output: z.object({ workers: z.array(workerStatusSchema) }),
} as const;

const workerWait = named.extend({
  timeout_ms: z.int().min(0).max(MAX_WAIT_MS).default(120_000).meta({ description: "How long to wait; give the call itself a longer deadline" }),
  on_crash: z.boolean().default(false).meta({ description: "Answer also while a process of it that ended unasked waits to be started again" }),
});

/** Functions by which the CLI and the console see and steer the workers of the config file. */
export function workerFunctions(
  supervisor: Supervisor,
): readonly [
  FunctionSpec<z.output<typeof workerList.input>>,
  FunctionSpec<z.output<typeof named>>,
  FunctionSpec<z.output<typeof workerWait>>,
  FunctionSpec<z.output<typeof named>>,
] {
  return [
    {
      id: "worker::list",
      summary: "Lists the workers of the config file, processes and modules, and how they are",
      ...workerList,
      handle: async () => ({ workers: await supervisor.list() }),
    },
    {
      id: "worker::status",
      summary: "Tells how one worker of the config file is, with its last output",
      input: named,
      output: workerStatusSchema,
      handle: ({ name }) => supervisor.status(name),
    },
    {
      id: "worker::wait",
      summary: "Answers when the worker is ready or cannot become so, at the latest after the timeout, with its status",
      input: workerWait,
      output: workerStatusSchema,
      handle: ({ name, timeout_ms, on_crash }, { signal }) =>
        supervisor.wait(name, { timeoutMs: timeout_ms, until: on_crash ? [...SETTLED, "backing_off"] : SETTLED, signal }),
    },
    {
      id: "worker::restart",
      summary: "Stops the processes of a worker and starts them anew, installing first what changed; answers at once",
      input: named,
      output: workerStatusSchema,
      handle: ({ name }) => supervisor.restart(name),
    },
  ];
}
