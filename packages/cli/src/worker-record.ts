import type { LogRecord } from "@svc/engine";
import { isAddedBySvc } from "./stored-log-lines.ts";

/** The engine's message for what workers log, and the attribute of those entries that are lines of a worker's output. */
const WORKER_LOGS = "a worker logs";
const OUTPUT_STREAM = "log.iostream";

/** What a worker logged, out of the line by which the engine shows it. */
export interface WorkerRecord {
  readonly service: string;
  /** Told by the worker's output as well. */
  readonly isOutput: boolean;
  /** As the worker logged it, without what svc added. */
  readonly record: LogRecord;
}

/** Undefined for what the engine says itself. */
export function workerRecordOf(line: LogRecord): WorkerRecord | undefined {
  if (line.message !== WORKER_LOGS) return undefined;
  const { service, text, module: _module, worker, data, traceId, spanId: _spanId, ...more } = line.fields;
  // Text of a size that was cut is no members any more.
  const members = typeof data === "object" && data !== null ? Object.entries(data) : data === undefined ? [] : [["data", data] as const];
  // Who wrote it stands before the message.
  const tellsWriter = (name: string, value: unknown): boolean => name === "worker_id" || (name === "worker" && (value === service || value === worker));
  const shown = members.filter(([name, value]) => !tellsWriter(name, value) && !isAddedBySvc(name));
  // The engine names the worker only where the service has another name.
  const named = worker === undefined ? {} : { worker };
  const trace = typeof traceId === "string" ? { trace: traceId.slice(0, 12) } : {};
  return {
    service: String(service),
    isOutput: members.some(([name]) => name === OUTPUT_STREAM),
    record: { ...line, message: String(text), fields: { ...named, ...withError(Object.fromEntries(shown)), ...more, ...trace } },
  };
}

/** OpenTelemetry's attributes of an exception as the error that they tell of. */
function withError(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { "exception.type": type, "exception.message": message, "exception.stacktrace": stack, ...rest } = fields;
  if (typeof message !== "string" || typeof stack !== "string") return fields;
  return {
    ...rest,
    ...(type === undefined || stack.startsWith(`${String(type)}:`) ? {} : { code: type }),
    error: Object.assign(new Error(message), { stack }),
  };
}
