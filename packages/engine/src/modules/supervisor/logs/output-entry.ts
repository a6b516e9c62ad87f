import type { Attributes, AttributeValue, LogEntry } from "../../../kernel/telemetry-contract.ts";

/** A line that a process wrote. */
export interface OutputLine {
  readonly text: string;
  readonly stream: "stdout" | "stderr";
  readonly worker: string;
  /** Pid of the process group's leader. */
  readonly pid: number | undefined;
  readonly timeMs: number;
}

const INFO = 9;
const ERROR = 17;
/** OpenTelemetry severities by the level names of loggers; numbers are those of pino and bunyan. */
const SEVERITIES: ReadonlyMap<string, number> = new Map([
  ["trace", 1],
  ["debug", 5],
  ["info", INFO],
  ["notice", 10],
  ["warn", 13],
  ["warning", 13],
  ["error", 17],
  ["critical", 21],
  ["fatal", 21],
  ["10", 1],
  ["20", 5],
  ["30", INFO],
  ["40", 13],
  ["50", 17],
  ["60", 21],
]);

const LOG_ID = "svc.log.id";

/**
 * Members of a JSON line that are not attributes. The loggers of our SDKs write time, level, message, trace_id, span_id
 * and log_id.
 */
const NOT_ATTRIBUTES: ReadonlySet<string> = new Set([
  "time",
  "timestamp",
  "level",
  "severity",
  "message",
  "msg",
  "trace_id",
  "span_id",
  "log_id",
]);

/**
 * Returns the log entry for a line, or undefined for a blank line. A JSON line with a level is parsed. Any other line
 * has level INFO, also on stderr, because many programs write everything to stderr.
 */
export function outputEntry(line: OutputLine): LogEntry | undefined {
  const { text, stream, worker, pid, timeMs } = line;
  if (text.trim() === "") return undefined;
  const origin = {
    "log.iostream": stream,
    "svc.worker.name": worker,
    ...(pid === undefined ? {} : { "svc.worker.pid": pid }),
  };
  const json = text.startsWith("{") ? jsonWithLevel(text) : undefined;
  if (json === undefined) return { timeMs, severity: INFO, body: text, attributes: origin, service: worker };
  const { members, severity } = json;
  const logId = textOf(members.log_id);
  const attributes: Record<string, AttributeValue> = Object.create(null);
  for (const [name, value] of Object.entries(members))
    if (!NOT_ATTRIBUTES.has(name)) Object.assign(attributes, attributesOf(name, value));
  Object.assign(attributes, origin);
  if (logId !== undefined) attributes[LOG_ID] = logId;
  return {
    timeMs: timeOf(members.time ?? members.timestamp) ?? timeMs,
    severity,
    body: textOf(members.message) ?? textOf(members.msg) ?? text,
    attributes,
    traceId: textOf(members.trace_id),
    spanId: textOf(members.span_id),
    service: worker,
  };
}

/**
 * Returns the error that a line reports. For a JSON line of level error or higher: its message and the message of the
 * caught error. For a JSON line of a lower level: undefined. For any other line: the line itself.
 */
export function errorIn(text: string): string | undefined {
  const json = text.startsWith("{") ? jsonWithLevel(text) : undefined;
  if (json === undefined) return text;
  const { members, severity } = json;
  if (severity < ERROR) return undefined;
  const message = textOf(members.message) ?? textOf(members.msg);
  const caught = members.error ?? members.err;
  const cause = typeof caught === "object" && caught !== null && !isList(caught) ? textOf(caught.message) : undefined;
  const known = [message, cause === message ? undefined : cause].filter((part) => part !== undefined && part !== "");
  return known.length === 0 ? text : known.join(": ");
}

/** Returns true for an entry of our SDKs' loggers, which an SDK may also send itself. */
export function isFromSdkLogger({ attributes }: LogEntry): boolean {
  return attributes !== undefined && Object.hasOwn(attributes, LOG_ID);
}

function jsonWithLevel(text: string): { readonly members: Attributes; readonly severity: number } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  // Every JSON value is a valid attribute value.
  const members = value as Attributes;
  const named = members.level ?? members.severity;
  const severity =
    typeof named === "string" || typeof named === "number" ? SEVERITIES.get(String(named).toLowerCase()) : undefined;
  return severity === undefined ? undefined : { members, severity };
}

/** Returns a member of a JSON line as attributes. An error in the form of our SDKs becomes the exception attributes. */
function attributesOf(name: string, value: AttributeValue): Attributes {
  if ((name !== "error" && name !== "err") || typeof value !== "object" || value === null || isList(value))
    return { [name]: value };
  const stack = textOf(value.stack);
  return {
    "exception.type": textOf(value.code) ?? textOf(value.type) ?? "Error",
    "exception.message": textOf(value.message) ?? "",
    ...(stack === undefined ? {} : { "exception.stacktrace": stack }),
  };
}

function isList(value: object): value is readonly AttributeValue[] {
  return Array.isArray(value);
}

function timeOf(value: AttributeValue | undefined): number | undefined {
  const ms = typeof value === "number" ? value : typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

function textOf(value: AttributeValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
