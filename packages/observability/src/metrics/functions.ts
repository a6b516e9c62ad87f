import type { HandlerContext, ModuleContext } from "@svc-runtime/engine/module";
import type { CallStats } from "../calls/call-stats.ts";
import type { WorkerCalls } from "../calls/worker-calls.ts";
import type { WorkerCounts } from "../calls/worker-counts.ts";
import {
  functionsInput,
  maySee,
  metricsListInput,
  rollupsInput,
  type SeenSeries,
  seriesInput,
  workersInput,
} from "./queries/inputs.ts";
import type { MetricReader } from "./reader.ts";
import type { SeriesStore } from "./series-store.ts";
import type { WorkerCollector } from "./sources/worker-collector.ts";

interface Parts {
  readonly store: SeriesStore;
  readonly stats: CallStats;
  readonly workers: WorkerCollector;
  readonly workerCalls: Pick<WorkerCalls, "figures">;
  readonly totals: Pick<WorkerCounts, "spawns" | "deaths" | "active">;
  readonly reader: Pick<MetricReader, "refresh" | "problem">;
}

/** Provides `engine::metrics::*` and `engine::rollups::list`. The implementation is loaded at the first call. */
export function provideMetricFunctions(
  { provideFunction, directory }: Pick<ModuleContext<unknown>, "provideFunction" | "directory">,
  { store, stats, workers, workerCalls, totals, reader }: Parts,
): void {
  function visibilityFor({ access }: HandlerContext): (series: SeenSeries) => boolean {
    const visible = access?.visible(directory);
    return (series) => maySee(series, access, (id) => visible?.workerById(id) !== undefined);
  }

  /**
   * Returns the counts of connected and disconnected workers. A restricted caller does not see disconnected workers.
   */
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
    summary: "Totals of calls and workers, and the latest value of each metric that workers and other programs sent",
    input: metricsListInput,
    handle: async (input, context) =>
      (await import("./queries/list.ts")).listMetrics(input, {
        store,
        stats,
        workers: workersFor(context),
        sees: visibilityFor(context),
      }),
  });
  provideFunction({
    id: "engine::metrics::series",
    summary: "Metrics over time, by name and labels; in steps of 5 s for 15 minutes, up to hourly for a week",
    input: seriesInput,
    handle: async (input, context) =>
      (await import("./queries/series.ts")).querySeries(input, store, visibilityFor(context)),
  });
  provideFunction({
    id: "engine::metrics::functions",
    summary:
      "Rate, errors and durations of calls per function in a window up to now; the maximum is exact, percentiles are within 5 % and never above it",
    input: functionsInput,
    async handle({ window_seconds }, context) {
      const { functionStatistics } = await import("./queries/functions.ts");
      // Samples are taken every 5 s. The refresh adds newer calls, because a user who has just made a call expects to
      // see it.
      reader.refresh();
      const problem = reader.problem();
      return {
        ...functionStatistics(window_seconds, store, { stats, sees: visibilityFor(context) }),
        ...(problem === undefined ? {} : { problem }),
      };
    },
  });
  provideFunction({
    id: "engine::metrics::workers",
    summary: "CPU, memory, event loop lag, calls in flight, and calls of the last 5 minutes of each connected worker",
    input: workersInput,
    handle: async (_input, { access }) =>
      (await import("./queries/workers.ts")).workerMetrics(
        access?.visible(directory) ?? directory,
        { latest: (id) => workers.latest(id), calls: (id) => workerCalls.figures(id) },
        store.timeLine.shown(store.timeLine.now()),
      ),
  });
  provideFunction({
    id: "engine::rollups::list",
    summary:
      "Metrics per minute (level 0, stored for 1 h), per 5 minutes (1, 6 h) or per hour (2, 7 days), one rollup per series",
    input: rollupsInput,
    handle: async (input, context) =>
      (await import("./queries/rollups.ts")).queryRollups(input, store, visibilityFor(context)),
  });
}
