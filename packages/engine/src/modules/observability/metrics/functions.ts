import type { HandlerContext, ModuleContext } from "../../../kernel/module.ts";
import type { CallStats } from "../calls/call-stats.ts";
import type { WorkerCounts } from "../calls/worker-counts.ts";
import { functionsInput, maySee, metricsListInput, rollupsInput, type SeenSeries, seriesInput, workersInput } from "./queries/inputs.ts";
import type { SeriesStore } from "./series-store.ts";
import type { WorkerFigures } from "./sources/worker-figures.ts";

interface Parts {
  readonly store: SeriesStore;
  readonly stats: CallStats;
  readonly workers: WorkerFigures;
  readonly totals: Pick<WorkerCounts, "spawns" | "deaths" | "active">;
}

/** `engine::metrics::*` and `engine::rollups::list`. What answers them is loaded when it is first asked. */
export function provideMetricFunctions(
  { provideFunction, directory }: Pick<ModuleContext<unknown>, "provideFunction" | "directory">,
  { store, stats, workers, totals }: Parts,
): void {
  function sight({ access }: HandlerContext): (series: SeenSeries) => boolean {
    const visible = access?.visible(directory);
    return (series) => maySee(series, access, (id) => visible?.workerById(id) !== undefined);
  }

  /** A restricted caller sees no worker that is gone. */
  function workersFor({ access }: HandlerContext): Parts["totals"] {
    if (access === undefined) return totals;
    const active = access
      .visible(directory)
      .workers()
      .filter(({ internal }) => !internal).length;
    return { spawns: active, deaths: 0, active };
  }

  provideFunction({
    id: "engine::metrics::list",
    summary: "Totals of calls and workers, and the latest of each metric that workers and other programs sent",
    input: metricsListInput,
    handle: async (input, context) =>
      (await import("./queries/list.ts")).metricsListAnswer(input, { store, stats, workers: workersFor(context), sees: sight(context) }),
  });
  provideFunction({
    id: "engine::metrics::series",
    summary: "Metrics over time, by name and labels; 15 minutes by 5 s, a week by the hour",
    input: seriesInput,
    handle: async (input, context) => (await import("./queries/series.ts")).seriesAnswer(input, store, sight(context)),
  });
  provideFunction({
    id: "engine::metrics::functions",
    summary: "Rate, errors and durations of each function's calls in a window up to now; the maximum exactly, percentiles to 5 % and never above it",
    input: functionsInput,
    handle: async ({ window_seconds }, context) =>
      (await import("./queries/functions.ts")).functionsAnswer(window_seconds, store, { stats, sees: sight(context) }),
  });
  provideFunction({
    id: "engine::metrics::workers",
    summary: "Processor, memory, event-loop lag and calls in flight of each connected worker",
    input: workersInput,
    handle: async (_input, { access }) =>
      (await import("./queries/workers.ts")).workersAnswer(access?.visible(directory) ?? directory, workers, store.timeLine.shown(store.timeLine.now())),
  });
  provideFunction({
    id: "engine::rollups::list",
    summary: "Metrics by the minute (level 0, kept 1 h), by 5 minutes (1, 6 h) or by the hour (2, 7 days), each series by itself",
    input: rollupsInput,
    handle: async (input, context) => (await import("./queries/rollups.ts")).rollupsAnswer(input, store, sight(context)),
  });
}
