import { maskText } from "@svc/protocol/secrets";
import type { FunctionFigures } from "../../lib/function-figures.ts";
import type { GoneWorker, Worker } from "../../lib/worker-history.ts";

/** One thing that somebody should look at. */
export interface Concern {
  /** Stays the same while it is the same trouble: what was muted by it stays muted. */
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

export interface ConcernSources {
  readonly workers: readonly Worker[];
  readonly gone: readonly GoneWorker[];
  readonly figures: readonly FunctionFigures[];
  readonly queues: readonly QueueState[];
  readonly crons: readonly CronState[];
  readonly alerts: readonly AlertState[];
  readonly health: HealthState | undefined;
  readonly nowMs: number;
}

const LOST_MS = 900_000;
/** A new version is often there before the old one goes. */
const REPLACED_BEFORE_MS = 5_000;
/** Of its calls. */
const MOST_ERRORS = 0.05;

/** What needs somebody, the worst first. */
export function concernsOf(sources: ConcernSources): readonly Concern[] {
  const concerns = [
    ...sources.alerts.filter(({ firing, silenced_until }) => firing && silenced_until === null).map(ofAlert),
    ...unwell(sources.health),
    ...lost(sources),
    ...sources.figures.filter(({ error_rate }) => error_rate > MOST_ERRORS).map(ofErrors),
    ...sources.queues.filter(({ dead }) => dead > 0).map(ofDeadLetters),
    ...sources.crons.filter(({ last_run }) => last_run?.outcome === "error").map(ofCron),
  ];
  return concerns.sort((a, b) => Number(b.tone === "danger") - Number(a.tone === "danger"));
}

const segment = encodeURIComponent;

function ofAlert({ name, metric, current_value, threshold }: AlertState): Concern {
  const detail = `${metric} is ${current_value ?? "not known"}, threshold ${threshold}`;
  return { key: `alert ${name}`, title: `Alert ${name} fires`, detail, href: "/config?section=alerts", tone: "danger" };
}

function unwell(health: HealthState | undefined): readonly Concern[] {
  return Object.entries(health?.components ?? {})
    .filter(([, { status }]) => status !== "healthy" && status !== "disabled")
    .map(([name, { status, details }]) => ({
      ...{ key: `health ${name} ${status}`, title: `${name} is ${status}`, detail: details, href: "/config?section=health" },
      tone: status === "unhealthy" ? "danger" : "warn",
    }));
}

function lost({ workers, gone, nowMs }: ConcernSources): readonly Concern[] {
  return gone
    .filter(({ worker, goneAtMs }) => {
      // One of its name that connected since then has taken its place.
      const isReplaced = workers.some(({ name, connected_at_ms }) => name === worker.name && connected_at_ms >= goneAtMs - REPLACED_BEFORE_MS);
      return !worker.internal && nowMs - goneAtMs <= LOST_MS && !isReplaced;
    })
    .map(({ worker: { id, name, function_count } }) => ({
      ...{ key: `lost ${id}`, title: `Worker ${name} is gone`, detail: `with ${function_count} ${function_count === 1 ? "function" : "functions"}` },
      ...{ href: `/workers/${segment(id)}`, tone: "danger" },
    }));
}

function ofErrors({ function_id, calls, errors, error_rate }: FunctionFigures): Concern {
  const detail = `${errors} of ${calls} calls (${percent(error_rate)})`;
  const href = `/traces?fn=${segment(function_id)}&status=error`;
  return { key: `errors ${function_id}`, title: `${function_id} fails`, detail, href, tone: error_rate > 0.5 ? "danger" : "warn" };
}

function ofDeadLetters({ queue, dead }: QueueState): Concern {
  const detail = `${dead} ${dead === 1 ? "job" : "jobs"} failed as often as allowed`;
  return { key: `dead ${queue}`, title: `Dead letters in ${queue}`, detail, href: `/queues/${segment(queue)}?tab=dead`, tone: "warn" };
}

function ofCron({ trigger_id, function_id, last_run }: CronState): Concern {
  const detail = maskText(last_run?.error ?? "its last run");
  return { key: `cron ${trigger_id}`, title: `Cron of ${function_id} failed`, detail, href: `/triggers/${segment(trigger_id)}`, tone: "warn" };
}

export function percent(rate: number): string {
  const value = rate * 100;
  return value === 0 ? "0 %" : value < 0.1 ? "< 0.1 %" : value < 10 ? `${value.toFixed(1)} %` : `${Math.round(value)} %`;
}
