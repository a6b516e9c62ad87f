import { CallError, workerIntroductionSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import type { WorkerView } from "../../kernel/directory.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import type { WorkerMetrics } from "../../kernel/telemetry-contract.ts";
import { CallerView, type Dialect } from "./caller-view.ts";
import { functionRow } from "./functions.ts";
import { page, pageInput } from "./page.ts";
import { bindingRow } from "./registered-triggers.ts";
import { ranked } from "./search.ts";

const listInput = z.object({
  worker_id: z.string().nullish(),
  search: z.string().nullish(),
  runtime: z.string().nullish(),
  status: z.string().nullish(),
  include_internal: z.boolean().nullish(),
  ...pageInput,
});
const infoInput = z.object({ name: z.string().meta({ description: "The worker's name, or its id" }) });

/** Provides `engine::workers::*`. */
export function provideWorkerListings({
  provideFunction,
  directory,
  clock,
  telemetry,
}: Pick<ModuleContext<unknown>, "provideFunction" | "directory" | "clock" | "telemetry">): void {
  const row = (view: WorkerView, dialect: Dialect) =>
    workerRow(view, dialect, telemetry.workerMetrics(view.id) ?? null);
  provideFunction({
    id: "engine::workers::register",
    summary: "Introduces a worker after each connect; the bridge handles it",
    input: workerIntroductionSchema,
    // A worker's own call never gets here: the bridge handles it before the connection's next frame is read.
    handle: () => {
      throw new CallError(
        "invalid_input",
        "engine::workers::register introduces a connected worker; call it over the worker's own connection",
      );
    },
  });
  provideFunction({
    id: "engine::workers::list",
    summary: "Connected workers",
    input: listInput,
    handle: (input, context) => {
      const visible = new CallerView(directory, context);
      const { dialect } = visible;
      const matching = visible.workers().filter((view) => matches(view, input, dialect));
      const views = ranked(matching, input.search, ({ name, description }) => ({ id: name, others: [description] }));
      const more = dialect === "0.22" ? {} : { timestamp: clock.now() };
      return page("workers", views, (view) => row(view, dialect), { request: input, dialect, more });
    },
  });
  provideFunction({
    id: "engine::workers::info",
    summary: "One worker with its functions, trigger types and triggers",
    input: infoInput,
    handle: ({ name }, context) => {
      const visible = new CallerView(directory, context);
      const { dialect } = visible;
      const all = visible.workers();
      const replicas = all.filter((view) => view.name === name);
      const worker = replicas[0] ?? all.find(({ id }) => id === name);
      if (worker === undefined) throw new CallError("NOT_FOUND", `Worker '${name}' is not connected.`);
      const ids = new Set((replicas.length > 0 ? replicas : [worker]).map(({ id }) => id));
      const { pid, internal } = worker;
      return {
        worker: { ...row(worker, dialect), ...(pid === null ? {} : { pid }), internal },
        ...(dialect === "svc" ? { replicas: [...ids] } : {}),
        functions: visible
          .functions()
          .filter(({ workers }) => workers.some(({ id }) => ids.has(id)))
          .map((view) => functionRow(view, dialect)),
        trigger_types: visible
          .types()
          .filter(({ workers }) => workers.some(({ id }) => ids.has(id)))
          .map(({ id, worker_name, description }) => ({ id, worker_name, description })),
        registered_triggers: visible
          .bindings()
          .filter(({ worker_name }) => worker_name === worker.name)
          .map((view) => bindingRow(view, dialect)),
      };
    },
  });
}

function matches(view: WorkerView, input: z.output<typeof listInput>, dialect: Dialect): boolean {
  if (input.worker_id) return view.id === input.worker_id;
  if (view.internal && !input.include_internal) return false;
  // Published clients expect a process id, so they do not see workers without one. The SDK of svc also sees workers in
  // browsers, which have no process id.
  if (dialect !== "svc" && view.pid === null) return false;
  if (input.runtime && view.runtime !== input.runtime) return false;
  return !input.status || view.status === input.status;
}

function workerRow(
  view: WorkerView,
  dialect: Dialect,
  metrics: WorkerMetrics | null,
): Readonly<Record<string, unknown>> {
  if (dialect === "svc") return { ...view, latest_metrics: metrics };
  const { id, name, runtime, version, os, ip_address, status, connected_at_ms, function_count, active_invocations } =
    view;
  const published = {
    id,
    name,
    runtime,
    version,
    os,
    ip_address,
    status,
    connected_at_ms,
    function_count,
    active_invocations,
  };
  const { description, internal, functions, isolation, pid } = view;
  return dialect === "0.22"
    ? { ...published, description, isolation }
    : { ...published, internal, functions, latest_metrics: metrics, pid, isolation };
}
