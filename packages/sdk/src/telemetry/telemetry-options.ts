/** What a worker tells the engine of its work besides its answers. */
export interface TelemetryOptions {
  /** Log lines, with the span that they belong to. */
  readonly logs?: boolean | undefined;
  /** Spans opened with `context.span` and `worker.span`. The engine itself records a span for every call. */
  readonly spans?: boolean | undefined;
  /** How the process is: processor, memory, event loop; every 10 seconds. */
  readonly metrics?: boolean | undefined;
}

/** The same, decided. */
export interface TelemetrySwitches {
  readonly logs: boolean;
  readonly spans: boolean;
  readonly metrics: boolean;
}

/** The option as given, else what the variable `SVC_TELEMETRY` says (`off`, `false`, `no` or `0`), else `byDefault`. */
export function telemetryOf(given: boolean | TelemetryOptions | undefined, variable: string | undefined, byDefault: boolean): TelemetrySwitches {
  const isOn = byDefault && !["off", "false", "no", "0"].includes(variable?.trim().toLowerCase() ?? "");
  const { logs = isOn, spans = isOn, metrics = isOn } = typeof given === "boolean" ? { logs: given, spans: given, metrics: given } : (given ?? {});
  return { logs, spans, metrics };
}
