import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { ApiFailure } from "../../lib/api.ts";
import { batchedCall } from "../../lib/batched-call.ts";
import { CALLS_BY_CONSOLES } from "../../lib/calls-by-consoles.ts";
import { useCronTexts } from "../../lib/cron-text.ts";
import { useFunctionFigures } from "../../lib/use-function-figures.ts";
import { useLiveCollection, useLiveState } from "../../lib/use-live.ts";
import { useModules } from "../../lib/use-modules.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import { type FunctionFacts, type Graph, graphOf, NOW_SECONDS, type TriggerFacts } from "../../model/flow-graph.ts";
import {
  callsOfThings,
  callsToRead,
  type JobRun,
  nameInInput,
  runsOfJobs,
  type Use,
  usesOf,
  withoutUses,
} from "../../model/resource-uses.ts";
import { type FlowSpan, type SeenCall, seenCalls, varied } from "../../model/seen-calls.ts";
import { cronExpressionOf } from "../../model/triggers.ts";
import { isModuleMissing } from "../../ui/module-missing.tsx";

const EVERY_MS = 15_000;
const MAX_LISTED = 500;
const MAX_TRACES = 40;
const MAX_SPANS = 400;
/**
 * Maximum number of inputs that are read per edge. Inputs are read because they show which scope, stream or queue a
 * call used.
 */
const MAX_INPUTS_PER_EDGE = 3;
/** Maximum number of inputs that are read per refresh. */
const MAX_INPUTS = 30;
const MAX_SCOPES = 200;

/** Names that were found in inputs, by invocation id. It prevents that an input is read twice. */
const namesRead = new Map<string, string | undefined>();
const MAX_NAMES = 2_000;

interface ListedFunction extends FunctionFacts {
  readonly internal: boolean;
  readonly workers: readonly { readonly id: string; readonly name: string }[];
}

interface Observed {
  readonly seen: readonly SeenCall[];
  readonly uses: readonly Use[];
  readonly jobs: readonly JobRun[];
  readonly read: number;
  readonly total: number;
  /** True if some traces, or some of their spans, were not read. Counts are then lower bounds. */
  readonly isSample: boolean;
}

async function observe(rangeMs: number, signal: AbortSignal): Promise<Observed> {
  const listed = await batchedCall<{
    readonly spans: readonly { readonly trace_id: string; readonly name: string }[];
    readonly total: number;
  }>(
    "engine::traces::list",
    { limit: MAX_LISTED, start_time: Date.now() - rangeMs, exclude_attributes: CALLS_BY_CONSOLES },
    { signal },
  );
  const ids = varied(listed.spans, MAX_TRACES);
  const trees = await Promise.all(
    ids.map((trace_id) =>
      batchedCall<{ readonly spans: readonly FlowSpan[]; readonly cursor: string | null }>(
        "engine::traces::spans",
        { trace_id, limit: MAX_SPANS },
        { signal },
      ),
    ),
  );
  const spans = trees.flatMap(({ spans: own }) => own);
  const calls = callsOfThings(spans);
  if (namesRead.size > MAX_NAMES) namesRead.clear();
  await Promise.all(
    callsToRead(calls, (id) => namesRead.has(id), MAX_INPUTS_PER_EDGE, MAX_INPUTS).map(
      async ({ invocationId, kind }) => {
        const found = await batchedCall<{ readonly input?: { readonly json: string } | null } | null>(
          "engine::invocations::get",
          { invocation_id: invocationId },
          { signal },
        );
        namesRead.set(invocationId, nameInInput(kind, found?.input?.json));
      },
    ),
  );
  return {
    seen: withoutUses(seenCalls(spans)),
    uses: usesOf(calls, namesRead),
    jobs: runsOfJobs(spans),
    read: ids.length,
    total: listed.total,
    isSample: listed.total > ids.length || trees.some(({ cursor }) => cursor !== null),
  };
}

export interface FlowData {
  readonly loaded: boolean;
  /**
   * True when each source has returned data or failed. The first layout waits for this, because nodes that appear later
   * do not move the nodes that are already placed.
   */
  readonly isComplete: boolean;
  readonly error: Error | null;
  readonly graph: Graph;
  /** Error message if the calls failed to load. Otherwise undefined. */
  readonly notObserved: string | undefined;
  readonly observed: Observed | undefined;
  /** Sources that failed, with their errors. A source is left out if its module is not configured. */
  readonly missing: readonly { readonly what: string; readonly why: string }[];
  readonly retry: () => void;
}

/**
 * Returns the graph of the whole system. Functions and triggers are updated live. Calls are read from the latest traces
 * every 15 s.
 */
export function useFlowData(rangeMs: number, system: boolean): FlowData {
  const { phase } = useLiveState();
  const functions = useLiveCollection<ListedFunction>("svc.functions", ({ function_id }) => function_id);
  const triggers = useLiveCollection<TriggerFacts>("svc.triggers", ({ id }) => id);
  const modules = useModules();
  const figures = useFunctionFigures(Math.max(60, Math.round(rangeMs / 1000)));
  const now = useFunctionFigures(NOW_SECONDS);
  const queues = usePolledCall<{
    readonly queues: readonly { readonly queue: string; readonly topic?: string | null }[];
  }>("queue::list", ["flow"], () => ({}), { everyMs: EVERY_MS });
  const streams = usePolledCall<{ readonly streams: readonly { readonly name: string }[] }>(
    "engine::streams::list",
    ["flow"],
    () => ({}),
    {
      everyMs: EVERY_MS,
    },
  );
  const scopes = usePolledCall<{ readonly items: readonly { readonly scope: string }[] }>(
    "state::groups",
    ["flow"],
    () => ({ limit: MAX_SCOPES }),
    {
      everyMs: EVERY_MS,
    },
  );
  const observed = useQuery({
    queryKey: ["flow observed", rangeMs],
    queryFn: ({ signal }) => observe(rangeMs, signal),
    refetchInterval: phase === "live" ? EVERY_MS : false,
    placeholderData: keepPreviousData,
  });
  const cronTexts = useCronTexts(triggers.items.flatMap((trigger) => cronExpressionOf(trigger) ?? []));
  const graph = useMemo(
    () =>
      graphOf({
        functions: functions.items.map(({ function_id, internal, workers }) => ({
          function_id,
          // Functions of modules are not shown themselves. The resources that they manage are shown instead: scopes,
          // queues and streams.
          internal: internal || (workers.length > 0 && workers.every(({ id }) => modules.has(id))),
          worker: workers[0]?.name,
        })),
        ...{ triggers: triggers.items, system, cronTexts },
        ...{ seen: observed.data?.seen ?? [], uses: observed.data?.uses ?? [], jobs: observed.data?.jobs ?? [] },
        figures: new Map(figures.data?.functions.map((each) => [each.function_id, each])),
        now: new Map(now.data?.functions.map((each) => [each.function_id, each])),
        // Queues of subscriptions are left out, because the triggers of the subscriptions are shown.
        queues: queues.data?.queues.filter(({ topic = null }) => topic === null).map(({ queue }) => queue) ?? [],
        streams: streams.data?.streams.map(({ name }) => name) ?? [],
        scopes: scopes.data?.items.map(({ scope }) => scope).filter((scope) => system || !scope.startsWith("__")) ?? [],
      }),
    [
      functions.items,
      modules,
      triggers.items,
      observed.data,
      figures.data,
      now.data,
      queues.data,
      streams.data,
      scopes.data,
      system,
      cronTexts,
    ],
  );
  const refusal = functions.reason ?? triggers.reason;
  const isRefused = functions.status === "refused" || triggers.status === "refused";
  return {
    loaded: functions.loaded && triggers.loaded,
    isComplete: [observed, queues, streams, scopes].every(({ data, error }) => data !== undefined || error !== null),
    error: isRefused ? new ApiFailure("svc.functions", { code: "refused", message: refusal ?? t`refused` }) : null,
    ...{ graph, observed: observed.data },
    notObserved: observed.error === null ? undefined : observed.error.message,
    missing: (
      [
        [t`Queues`, queues.error],
        [t`Streams`, streams.error],
        [t`State`, scopes.error],
        [t`Call counts`, figures.error],
      ] as const
    ).flatMap(([what, failure]) =>
      failure === null || isModuleMissing(failure) ? [] : [{ what, why: failure.message }],
    ),
    retry: () => void Promise.all([observed, queues, streams, scopes, figures].map((query) => query.refetch())),
  };
}
