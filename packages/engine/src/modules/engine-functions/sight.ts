import type { Directory, FunctionView, TriggerTypeView, TriggerView, WorkerView } from "../../kernel/directory.ts";
import type { HandlerContext } from "../../kernel/module.ts";

/**
 * The wire that the caller was written for: `0.11` and `0.22` are the published clients' (0.22 and later), `svc` is ours. Their answers
 * differ in shape, and `engine::triggers::list` in meaning.
 */
export type Dialect = "0.11" | "0.22" | "svc";

/** What one caller sees of the running engine. Every listing looks through here, so that nothing shows what its caller may not know of. */
export class Sight {
  readonly dialect: Dialect;
  readonly #all: Directory;
  readonly #visible: Directory;

  constructor(directory: Directory, { caller, access }: Pick<HandlerContext, "caller" | "access">) {
    this.dialect = caller === undefined ? "svc" : dialectOf(directory, caller.worker_id);
    this.#all = directory;
    this.#visible = access?.visible(directory) ?? directory;
  }

  functions(): readonly FunctionView[] {
    return this.#visible.functions();
  }

  /** `forbidden` when it is there, but not for this caller. */
  function(id: string): FunctionView | "forbidden" | undefined {
    return this.#visible.functionById(id) ?? (this.#all.functionById(id) === undefined ? undefined : "forbidden");
  }

  workers(): readonly WorkerView[] {
    return this.#visible.workers();
  }

  worker(id: string): WorkerView | undefined {
    return this.#visible.workerById(id);
  }

  bindings(): readonly TriggerView[] {
    return this.#visible.triggers();
  }

  binding(id: string): TriggerView | undefined {
    return this.#visible.triggerById(id);
  }

  types(): readonly TriggerTypeView[] {
    return this.#visible.triggerTypes();
  }

  type(id: string): TriggerTypeView | undefined {
    return this.types().find((view) => view.id === id);
  }
}

/** By how the worker introduced itself. One that is not known, or whose version says nothing, gets ours, which has the members of both. */
function dialectOf(directory: Directory, workerId: string): Dialect {
  const view = directory.workerById(workerId);
  if (view === undefined || view.runtime === "engine" || view.features.length > 0) return "svc";
  const [, minor] = /^0\.(\d{1,4})\./.exec(view.version ?? "") ?? [];
  if (minor === undefined) return "svc";
  return Number(minor) < 22 ? "0.11" : "0.22";
}
