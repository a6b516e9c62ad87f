import type { LogRecord } from "@svc-runtime/engine";
import { isAddedBySvc } from "../logs/stored-log-lines.ts";

/**
 * Message of the engine's records that contain a worker's log entry, and the attribute that marks lines of a worker's
 * output.
 */
const WORKER_LOGS = "a worker logs";
const OUTPUT_STREAM = "log.iostream";
/** Attribute with the id of an entry. The line in the worker's output has the same id. */
const LOG_ID = "svc.log.id";

/** A worker's log record, extracted from the engine's log line. */
export interface WorkerRecord {
  readonly service: string;
  /** True if the entry is a line of the worker's output. */
  readonly isOutput: boolean;
  /** Id of an entry that an SDK sent. The worker's output may contain the same entry. */
  readonly id: string | undefined;
  /** The record as the worker logged it, without the attributes that svc added. */
  readonly record: LogRecord;
}

/** Extracts a worker's record from a line of the engine's log. Returns undefined for the engine's own records. */
export function workerRecordOf(line: LogRecord): WorkerRecord | undefined {
  if (line.message !== WORKER_LOGS) return undefined;
  const { service, text, module: _module, worker, data, traceId, spanId: _spanId, ...more } = line.fields;
  // `data` is a text if it was truncated.
  const members =
    typeof data === "object" && data !== null
      ? Object.entries(data)
      : data === undefined
        ? []
        : [["data", data] as const];
  // True for a member that names the writer. It is not shown, because the writer's name is before the message.
  const namesWriter = (name: string, value: unknown): boolean =>
    name === "worker_id" || (name === "worker" && (value === service || value === worker));
  const shown = members.filter(([name, value]) => !namesWriter(name, value) && !isAddedBySvc(name));
  // The engine adds `worker` only if it differs from the service.
  const named = worker === undefined ? {} : { worker };
  const [, id] = members.find(([name]) => name === LOG_ID) ?? [];
  return {
    service: String(service),
    isOutput: members.some(([name]) => name === OUTPUT_STREAM),
    id: typeof id === "string" ? id : undefined,
    record: {
      ...line,
      message: String(text),
      fields: { ...named, ...withError(Object.fromEntries(shown)), ...more, traceId },
    },
  };
}

/** Converts OpenTelemetry's exception attributes to an error. */
function withError(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { "exception.type": type, "exception.message": message, "exception.stacktrace": stack, ...rest } = fields;
  if (typeof message !== "string" || typeof stack !== "string") return fields;
  return {
    ...rest,
    ...(type === undefined || stack.startsWith(`${String(type)}:`) ? {} : { code: type }),
    error: Object.assign(new Error(message), { stack }),
  };
}
