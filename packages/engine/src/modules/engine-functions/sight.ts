import type { Caller } from "@svc/protocol";
import type { Directory, FunctionView, TriggerTypeView, TriggerView, WorkerView } from "../../kernel/directory.ts";

/** Whether a caller may know of a function. Undefined callers are the engine itself. */
export type Visibility = (functionId: string, caller: Caller | undefined) => boolean;

/**
 * The wire that the caller was written for: `0.11` and `0.22` are the published clients' (0.22 and later), `svc` is ours. Their answers
 * differ in shape, and `engine::triggers::list` in meaning.
 */
export type Dialect = "0.11" | "0.22" | "svc";

/** What callers see of the running engine. Every listing looks through here, so that nothing shows what its caller may not know of. */
export class Sight {
  readonly #directory: Directory;
  readonly #isVisible: Visibility;

  constructor(directory: Directory, isVisible: Visibility) {
    this.#directory = directory;
    this.#isVisible = isVisible;
  }

  functions(caller: Caller | undefined): FunctionView[] {
    return this.#directory.functions().filter(({ function_id }) => this.#isVisible(function_id, caller));
  }

  /** `forbidden` when it is there, but not for this caller. */
  function(id: string, caller: Caller | undefined): FunctionView | "forbidden" | undefined {
    const view = this.#directory.functionById(id);
    return view === undefined || this.#isVisible(id, caller) ? view : "forbidden";
  }

  /** Connected workers, then modules by name; of their functions those that the caller may know of. */
  workers(caller: Caller | undefined): WorkerView[] {
    return this.#directory.workers().map((view) => {
      const functions = view.functions.filter((id) => this.#isVisible(id, caller));
      return functions.length === view.functions.length ? view : { ...view, functions, function_count: functions.length };
    });
  }

  bindings(caller: Caller | undefined): TriggerView[] {
    return this.#directory.triggers().filter(({ function_id }) => this.#isVisible(function_id, caller));
  }

  binding(id: string, caller: Caller | undefined): TriggerView | undefined {
    const view = this.#directory.triggerById(id);
    return view !== undefined && this.#isVisible(view.function_id, caller) ? view : undefined;
  }

  types(): readonly TriggerTypeView[] {
    return this.#directory.triggerTypes();
  }

  type(id: string): TriggerTypeView | undefined {
    return this.#directory.triggerTypes().find((view) => view.id === id);
  }

  /** By how the caller introduced itself. One that is not known, or whose version says nothing, gets ours, which has the members of both. */
  dialectOf(caller: Caller | undefined): Dialect {
    return caller === undefined ? "svc" : this.dialectOfWorker(caller.worker_id);
  }

  dialectOfWorker(workerId: string): Dialect {
    const view = this.#directory.workerById(workerId);
    if (view === undefined || view.runtime === "engine" || view.features.length > 0) return "svc";
    const [, minor] = /^0\.(\d{1,4})\./.exec(view.version ?? "") ?? [];
    if (minor === undefined) return "svc";
    return Number(minor) < 22 ? "0.11" : "0.22";
  }
}
