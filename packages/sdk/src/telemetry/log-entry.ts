import type { LogFields, LogLevel } from "../logger.ts";
import { OtlpAttributes } from "./otlp-values.ts";
import type { TraceContext } from "./trace-context.ts";
import { nanosOf } from "./wall-time.ts";

/** Severity numbers of OpenTelemetry. */
const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 5, info: 9, warn: 13, error: 17 };

/** One log line for the engine. */
export interface LogEntry {
  readonly timeMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
  /** Id of the line. It is also in the line on stderr, so that an engine that receives both stores the line once. */
  readonly logId: string;
  readonly functionId?: string | undefined;
  readonly invocationId?: string | undefined;
  readonly trace?: TraceContext | undefined;
}

/** Returns a log line as a `LogRecord` of OTLP/JSON. Never throws. */
export function otlpLogRecord({
  timeMs,
  level,
  message,
  fields,
  logId,
  functionId,
  invocationId,
  trace,
}: LogEntry): string {
  const attributes = new OtlpAttributes();
  const body = { stringValue: attributes.text(String(message)) };
  attributes.set("svc.log.id", logId);
  attributes.set("svc.function_id", functionId);
  attributes.set("svc.invocation_id", invocationId);
  let exception: Error | undefined;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value instanceof Error && exception === undefined) exception = value;
    else attributes.set(name, value);
  }
  if (exception !== undefined) attributes.exception(exception);
  return JSON.stringify({
    timeUnixNano: nanosOf(timeMs),
    observedTimeUnixNano: nanosOf(timeMs),
    severityNumber: SEVERITY[level],
    severityText: level.toUpperCase(),
    body,
    attributes: attributes.list,
    droppedAttributesCount: attributes.dropped || undefined,
    traceId: trace?.traceId,
    spanId: trace?.spanId,
    flags: trace === undefined ? undefined : Number(trace.sampled),
  });
}
