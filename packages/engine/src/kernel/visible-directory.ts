import type { Directory, DirectoryChange, FunctionView, TriggerView, WorkerView } from "./directory.ts";

export interface Viewer {
  readonly workerId: string;
  mayCall(functionId: string): boolean;
}

/**
 * Returns the directory as one restricted worker (the viewer) sees it. It contains the functions that the viewer
 * provides or may call, the triggers of these functions, the viewer itself, and the workers that provide these
 * functions. Other functions of these workers are left out.
 */
export function visibleDirectory(all: Directory, viewer: Viewer): Directory {
  const seesFunction = (view: FunctionView): boolean =>
    view.workers.some(({ id }) => id === viewer.workerId) || viewer.mayCall(view.function_id);
  const seesFunctionId = (id: string): boolean => {
    const view = all.functionById(id);
    return view === undefined ? viewer.mayCall(id) : seesFunction(view);
  };
  const seesTrigger = (view: TriggerView): boolean => seesFunctionId(view.function_id);
  const shown = (view: WorkerView): WorkerView | undefined => {
    if (view.id === viewer.workerId) return view;
    const functions = view.functions.filter(seesFunctionId);
    return functions.length === 0
      ? undefined
      : { ...view, functions, function_count: functions.length, ip_address: null, pid: null };
  };
  const functions = (): FunctionView[] => all.functions().filter(seesFunction);
  const workers = (): WorkerView[] =>
    all
      .workers()
      .map(shown)
      .filter((view) => view !== undefined);
  const triggers = (): TriggerView[] => all.triggers().filter(seesTrigger);
  const seesChange = ({ kind, id, op }: DirectoryChange): boolean => {
    if (kind === "function") return seesFunctionId(id);
    // All streams are hidden, because it is not known here to which principal a stream belongs.
    if (kind === "stream") return false;
    // A removed object can no longer be looked up, and its id alone reveals nothing.
    if (op === "removed") return true;
    return kind === "worker" ? visible.workerById(id) !== undefined : visible.triggerById(id) !== undefined;
  };
  const isConnected = ({ id }: { readonly id: string }): boolean => all.workerById(id)?.kind !== "module";
  const visible: Directory = {
    functions,
    functionById(id) {
      const view = all.functionById(id);
      return view !== undefined && seesFunction(view) ? view : undefined;
    },
    isProvidedHere: (id) => seesFunctionId(id) && all.isProvidedHere(id),
    workers,
    eachWorker(visit) {
      all.eachWorker((load) => {
        const view = visible.workerById(load.id);
        if (view !== undefined) visit({ ...load, ip_address: view.ip_address, pid: view.pid });
      });
    },
    workerById(id) {
      const view = all.workerById(id);
      return view === undefined ? undefined : shown(view);
    },
    triggers,
    triggerById(id) {
      const view = all.triggerById(id);
      return view !== undefined && seesTrigger(view) ? view : undefined;
    },
    triggerTypes: () =>
      all.triggerTypes().map((type) => ({
        ...type,
        instance_count: triggers().filter(({ trigger_type }) => trigger_type === type.id).length,
      })),
    counters: () => ({
      ...all.counters(),
      functions: functions().filter(({ internal, workers }) => !internal && workers.some(isConnected)).length,
      triggers: triggers().filter(({ internal }) => !internal).length,
      workers: workers().filter(({ internal }) => !internal).length,
    }),
    onChange: (listener) =>
      all.onChange((change) => {
        if (seesChange(change)) listener(change);
      }),
    onRegistration: (listener) =>
      all.onRegistration((workerId) => {
        if (visible.workerById(workerId) !== undefined) listener(workerId);
      }),
  };
  return visible;
}
