import { maskText } from "@svc-runtime/protocol/secrets";
import type { FunctionFigures } from "../../lib/function-figures.ts";
import type { GoneWorker, Worker } from "../../lib/worker-history.ts";

/** A problem of the system that the user should look at. */
export interface Issue {
  /** Stable while the problem lasts. Muting is stored by this key. */
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  readonly href: string;
  readonly tone: "danger" | "warn";
}

export interface QueueState {
  readonly queue: string;
  readonly dead: number;
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
  readonly nowMs: number;
}

/** How long a disconnected worker is reported. */
const DISCONNECTED_MS = 900_000;
/** In a rolling update the new worker often connects before the old one disconnects. */
const REPLACED_BEFORE_MS = 5_000;
const MAX_ERROR_RATE = 0.05;

/** Returns all issues, the most severe first. */
export function issuesOf(sources: IssueSources): readonly Issue[] {
  const issues = [
    ...sources.alerts.filter(({ firing, silenced_until }) => firing && silenced_until === null).map(alertIssue),
    ...healthIssues(sources.health),
    ...workerIssues(sources),
    ...sources.figures.filter(({ error_rate }) => error_rate > MAX_ERROR_RATE).map(errorRateIssue),
    ...sources.queues.filter(({ dead }) => dead > 0).map(deadLetterIssue),
    ...sources.crons.filter(({ last_run }) => last_run?.outcome === "error").map(cronIssue),
  ];
  return issues.sort((a, b) => Number(b.tone === "danger") - Number(a.tone === "danger"));
}

const segment = encodeURIComponent;

function alertIssue({ name, metric, current_value, threshold }: AlertState): Issue {
  const detail = `${metric} is ${current_value ?? "unknown"}, threshold ${threshold}`;
  return {
    key: `alert ${name}`,
    title: `Alert ${name} is firing`,
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
        title: `${name} is ${status}`,
        detail: details,
        href: "/config?section=health",
      },
      tone: status === "unhealthy" ? "danger" : "warn",
    }));
}

function workerIssues({ workers, disconnected, nowMs }: IssueSources): readonly Issue[] {
  return disconnected
    .filter(({ worker, goneAtMs }) => {
      // A worker of the same name that connected since then replaces it.
      const isReplaced = workers.some(
        ({ name, connected_at_ms }) => name === worker.name && connected_at_ms >= goneAtMs - REPLACED_BEFORE_MS,
      );
      return !worker.internal && nowMs - goneAtMs <= DISCONNECTED_MS && !isReplaced;
    })
    .map(({ worker: { id, name, function_count } }) => ({
      ...{
        key: `lost ${id}`,
        title: `Worker ${name} disconnected`,
        detail: `It provided ${function_count} ${function_count === 1 ? "function" : "functions"}`,
      },
      ...{ href: `/workers/${segment(id)}`, tone: "danger" },
    }));
}

function errorRateIssue({ function_id, calls, errors, error_rate }: FunctionFigures): Issue {
  const detail = `${errors} of ${calls} calls failed (${percent(error_rate)})`;
  const href = `/traces?fn=${segment(function_id)}&status=error`;
  return {
    key: `errors ${function_id}`,
    title: `${function_id} is failing`,
    detail,
    href,
    tone: error_rate > 0.5 ? "danger" : "warn",
  };
}

function deadLetterIssue({ queue, dead }: QueueState): Issue {
  const detail = `${dead} ${dead === 1 ? "job" : "jobs"} exhausted all attempts`;
  return {
    key: `dead ${queue}`,
    title: `Dead letters in ${queue}`,
    detail,
    href: `/queues/${segment(queue)}?tab=dead`,
    tone: "warn",
  };
}

function cronIssue({ trigger_id, function_id, last_run }: CronState): Issue {
  const detail = maskText(last_run?.error ?? "The last run failed");
  return {
    key: `cron ${trigger_id}`,
    title: `Cron run of ${function_id} failed`,
    detail,
    href: `/triggers/${segment(trigger_id)}`,
    tone: "warn",
  };
}

export function percent(rate: number): string {
  const value = rate * 100;
  return value === 0
    ? "0 %"
    : value < 0.1
      ? "< 0.1 %"
      : value < 10
        ? `${value.toFixed(1)} %`
        : `${Math.round(value)} %`;
}
