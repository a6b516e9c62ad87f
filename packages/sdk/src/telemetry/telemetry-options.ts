import { checkedOptions, optionNames } from "../names/option-names.ts";

/** Telemetry that a worker sends to the engine. */
export interface TelemetryOptions {
  /** Log lines, each with its span. */
  readonly logs?: boolean | undefined;
  /** Spans that are opened with `context.span` and `worker.span`. The engine itself records a span for each call. */
  readonly spans?: boolean | undefined;
  /** Metrics of the process: CPU, memory, event loop. Every 10 seconds. */
  readonly metrics?: boolean | undefined;
}

const names = optionNames("telemetry of connect", ["logs", "spans", "metrics"]);

/** The options with defaults applied. */
export interface TelemetrySwitches {
  readonly logs: boolean;
  readonly spans: boolean;
  readonly metrics: boolean;
}

/**
 * Applies the defaults. The first of these that is given is used: the option; the variable `SVC_TELEMETRY` (`off`,
 * `false`, `no` or `0`); `byDefault`.
 */
export function telemetryOf(
  given: boolean | TelemetryOptions | undefined,
  variable: string | undefined,
  byDefault: boolean,
): TelemetrySwitches {
  const isOn = byDefault && !["off", "false", "no", "0"].includes(variable?.trim().toLowerCase() ?? "");
  const {
    logs = isOn,
    spans = isOn,
    metrics = isOn,
  } = typeof given === "boolean"
    ? { logs: given, spans: given, metrics: given }
    : checkedOptions<TelemetryOptions>(given ?? {}, names);
  return { logs, spans, metrics };
}
