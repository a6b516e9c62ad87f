import { maskText } from "@svc-runtime/protocol/secrets";
import { plural, t } from "../../labels/translate.ts";
import { percent } from "../../lib/percent.ts";
import type { FunctionFigures } from "../../lib/use-function-figures.ts";
import type { GoneWorker, Worker } from "../../lib/worker-history.ts";
import type { SeenCall } from "../../model/seen-calls.ts";

/** A problem of the system that the user should look at. */
export interface Issue {
  /** Key that stays the same while the problem lasts. Muted issues are stored by it. */
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  readonly href: string;
  readonly tone: "danger" | "warn";
  /** The function that fails, if it is known. */
  readonly functionId?: string | undefined;
  /** Other issues with the same cause. */
  readonly effects?: readonly Issue[];
}

export interface QueueState {
  readonly queue: string;
  readonly dead: number;
  /** Function of the queue's latest dead letter. Undefined if it was not read. */
  readonly deadFunctionId?: string | undefined;
}

export interface CronState {
  readonly trigger_id: string;
  readonly function_id: string;
  readonly expression: string;
  readonly last_run: { readonly outcome: string; readonly error?: string | null } | null;
}

export interface AlertState {
  readonly name: string;
  readonly firing: boolean;
  readonly silenced_until: number | null;
  readonly metric: string;
  readonly current_value: number | null;
  readonly threshold: number;
  readonly window_seconds: number;
}

export interface HealthState {
  readonly components: Readonly<Record<string, { readonly status: string; readonly details: string }>>;
}

export interface IssueSources {
  readonly workers: readonly Worker[];
  readonly disconnected: readonly GoneWorker[];
  readonly figures: readonly FunctionFigures[];
  readonly queues: readonly QueueState[];
  readonly crons: readonly CronState[];
  readonly alerts: readonly AlertState[];
  readonly health: HealthState | undefined;
  /** Observed calls between functions. */
  readonly seen: readonly SeenCall[];
  readonly nowMs: number;
}

/** Time for which a disconnected worker is reported, in milliseconds. */
const DISCONNECTED_MS = 900_000;
/**
 * A worker that connected up to this time before another one disconnected may replace it, in milliseconds. In a rolling
 * update, the new worker often connects first.
 */
const REPLACED_BEFORE_MS = 5_000;
const MAX_ERROR_RATE = 0.05;

/** Returns all issues, one for each cause. The most severe come first. */
export function issuesOf(sources: IssueSources): readonly Issue[] {
  const issues = [
    ...sources.alerts.filter(({ firing, silenced_until }) => firing && silenced_until === null).map(alertIssue),
    ...healthIssues(sources.health),
    ...workerIssues(sources),
    ...sources.figures.filter(({ error_rate }) => error_rate > MAX_ERROR_RATE).map(errorRateIssue),
    ...sources.queues.filter(({ dead }) => dead > 0).map(deadLetterIssue),
    ...sources.crons.filter(({ last_run }) => last_run?.outcome === "error").map(cronIssue),
  ];
  return byCause(issues, sources).sort((a, b) => Number(b.tone === "danger") - Number(a.tone === "danger"));
}

/**
 * Joins issues that have the same cause: a failing function, the failing functions that call it, and their cron runs
 * and dead letters. Alerts are not joined, because users defined each of them to be shown.
 */
function byCause(issues: readonly Issue[], { figures, seen }: IssueSources): Issue[] {
  const failing = new Set(
    figures.filter(({ error_rate }) => error_rate > MAX_ERROR_RATE).map((each) => each.function_id),
  );
  const groups = new Map<string, Issue[]>();
  for (const issue of issues) {
    const cause = issue.functionId === undefined ? issue.key : `function ${causeOf(issue.functionId, failing, seen)}`;
    groups.set(cause, [...(groups.get(cause) ?? []), issue]);
  }
  return [...groups].map(([cause, members]) => {
    const head = members.find(({ key }) => key === cause.replace(/^function /, "errors ")) ?? (members[0] as Issue);
    const effects = members.filter((issue) => issue !== head);
    if (effects.length === 0) return head;
    const tone = members.some((issue) => issue.tone === "danger") ? "danger" : "warn";
    return { ...head, tone, effects };
  });
}

/**
 * Returns the function that causes the failures of a failing function. It follows failed calls to the last failing
 * function. If functions call each other in a cycle, the first of them by name is the cause.
 */
function causeOf(functionId: string, failing: ReadonlySet<string>, seen: readonly SeenCall[]): string {
  const path = [functionId];
  for (;;) {
    const [callee] = seen
      .filter(({ from, to, errors }) => from === path.at(-1) && errors > 0 && failing.has(to))
      .sort((a, b) => b.errors - a.errors);
    if (callee === undefined) return path.at(-1) as string;
    const at = path.indexOf(callee.to);
    if (at >= 0) return path.slice(at).sort()[0] as string;
    path.push(callee.to);
  }
}

const segment = encodeURIComponent;

function alertIssue({ name, metric, current_value, threshold, window_seconds: seconds }: AlertState): Issue {
  const number = (value: number): string => value.toLocaleString("en-GB", { maximumFractionDigits: 2 });
  const now = current_value == null ? "unknown" : number(current_value);
  const detail = t`${metric} is ${now} over the last ${seconds} s, threshold ${number(threshold)}`;
  return {
    key: `alert ${name}`,
    title: t`Alert ${name} is firing`,
    detail,
    href: "/config?section=alerts",
    tone: "danger",
  };
}

function healthIssues(health: HealthState | undefined): readonly Issue[] {
  return Object.entries(health?.components ?? {})
    .filter(([, { status }]) => status !== "healthy" && status !== "disabled")
    .map(([name, { status, details }]) => ({
      ...{
        key: `health ${name} ${status}`,
        title: t`${name} is ${status}`,
        detail: details,
        href: "/config?section=health",
      },
      tone: status === "unhealthy" ? "danger" : "warn",
    }));
}

function workerIssues({ workers, disconnected, nowMs }: IssueSources): readonly Issue[] {
  return disconnected
    .filter(({ worker, goneAtMs }) => {
      // A worker with the same name that connected in the meantime replaces it.
      const isReplaced = workers.some(
        ({ name, connected_at_ms }) => name === worker.name && connected_at_ms >= goneAtMs - REPLACED_BEFORE_MS,
      );
      return !worker.internal && nowMs - goneAtMs <= DISCONNECTED_MS && !isReplaced;
    })
    .map(({ worker: { id, name, function_count } }) => ({
      ...{
        key: `lost ${id}`,
        title: t`Worker ${name} disconnected`,
        detail: plural(function_count, "It provided # function", "It provided # functions"),
      },
      ...{ href: `/workers/${segment(id)}`, tone: "danger" },
    }));
}

function errorRateIssue({ function_id, calls, errors, error_rate }: FunctionFigures): Issue {
  const detail = t`${errors} of ${calls} calls failed (${percent(error_rate)})`;
  const href = `/traces?fn=${segment(function_id)}&failed=true`;
  return {
    key: `errors ${function_id}`,
    functionId: function_id,
    title: t`${function_id} is failing`,
    detail,
    href,
    tone: error_rate > 0.5 ? "danger" : "warn",
  };
}

function deadLetterIssue({ queue, dead, deadFunctionId }: QueueState): Issue {
  const detail = plural(dead, "# job exhausted all attempts", "# jobs exhausted all attempts");
  return {
    key: `dead ${queue}`,
    functionId: deadFunctionId,
    title: t`Dead letters in ${queue}`,
    detail,
    href: `/queues/${segment(queue)}?tab=dead`,
    tone: "warn",
  };
}

function cronIssue({ trigger_id, function_id, last_run }: CronState): Issue {
  const detail = maskText(last_run?.error ?? t`The last run failed`);
  return {
    key: `cron ${trigger_id}`,
    functionId: function_id,
    title: t`Cron run of ${function_id} failed`,
    detail,
    href: `/triggers/${segment(trigger_id)}`,
    tone: "warn",
  };
}
