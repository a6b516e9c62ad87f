import {
  type Directory,
  type FunctionView,
  isPublishedClient,
  type TriggerTypeView,
  type TriggerView,
  type WorkerView,
} from "../../kernel/directory.ts";
import type { HandlerContext } from "../../kernel/module.ts";

/**
 * The client version of the caller: `0.11` and `0.22` (0.22 and later) are published clients, `svc` is the SDK of svc.
 * The version decides about the members of responses and about the meaning of `engine::triggers::list`.
 */
export type Dialect = "0.11" | "0.22" | "svc";

/**
 * The running engine as one caller may see it. All list functions use it, so that they show nothing that the caller may
 * not see.
 */
export class CallerView {
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

  /** Returns `forbidden` if the function exists but the caller may not see it. */
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

/**
 * Derives the dialect from the worker's introduction. An unknown worker or version gets `svc`, because those responses
 * have the members of both published versions.
 */
function dialectOf(directory: Directory, workerId: string): Dialect {
  const view = directory.workerById(workerId);
  if (view === undefined || !isPublishedClient(view)) return "svc";
  const [, minor] = /^0\.(\d{1,4})\./.exec(view.version ?? "") ?? [];
  if (minor === undefined) return "svc";
  return Number(minor) < 22 ? "0.11" : "0.22";
}
