import { isEnabled, type Logger, loggerOf } from "../logger.ts";
import type { LogEntry } from "./log-entry.ts";
import { randomHex } from "./random-hex.ts";
import { readTraceparent } from "./trace-context.ts";
import { wallTimeMs } from "./wall-time.ts";

/** Origin of log lines: the worker, and the call if there is one. */
export interface LoggedBy {
  readonly worker: string;
  readonly functionId?: string | undefined;
  readonly invocationId?: string | undefined;
  /** Returns the trace context of the running span. */
  readonly traceparent: () => string | undefined;
}

/**
 * Returns a logger whose lines contain the worker, the call and the span. It also passes the lines to `entries`. If a
 * field of a line has the same name, the field is used, except for `log_id`: an engine that receives the line twice
 * recognizes it by this id.
 */
export function workerLogger(base: Logger, by: LoggedBy, entries: ((entry: LogEntry) => void) | undefined): Logger {
  const { functionId, invocationId } = by;
  const ofCall =
    functionId === undefined
      ? { worker: by.worker }
      : { worker: by.worker, function_id: functionId, invocation_id: invocationId };
  return loggerOf(base.level, (level, message, fields = {}) => {
    const trace = readTraceparent(by.traceparent());
    const ofSpan = trace === undefined ? undefined : { trace_id: trace.traceId, span_id: trace.spanId };
    if (entries === undefined || !isEnabled(level, base.level ?? "info")) {
      base[level](message, { ...ofCall, ...ofSpan, ...fields });
      return;
    }
    const logId = randomHex(8);
    base[level](message, { ...ofCall, ...ofSpan, ...fields, log_id: logId });
    entries({ timeMs: wallTimeMs(), level, message, fields, logId, functionId, invocationId, trace });
  });
}
