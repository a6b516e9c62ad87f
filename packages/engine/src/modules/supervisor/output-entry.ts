import type { Attributes, AttributeValue, LogEntry } from "../../kernel/telemetry-contract.ts";

/** A line as it came out of a process. */
export interface OutputLine {
  readonly text: string;
  readonly stream: "stdout" | "stderr";
  readonly worker: string;
  /** Of the process group's leader. */
  readonly pid: number | undefined;
  readonly timeMs: number;
}

const INFO = 9;
const ERROR = 17;
/** Names that loggers give their levels; numbers are those of pino and bunyan. */
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

/** Members of a JSON line that are something else than an attribute. Our SDKs' loggers write time, level, message, trace_id, span_id and log_id. */
const TAKEN: ReadonlySet<string> = new Set(["time", "timestamp", "level", "severity", "message", "msg", "trace_id", "span_id", "log_id"]);

/**
 * The log entry for a line. A line of JSON with a level is taken apart; any other is of level INFO whichever stream it came on, since many
 * programs write all they have to say to stderr. Undefined: the line is blank.
 */
export function outputEntry(line: OutputLine): LogEntry | undefined {
  const { text, stream, worker, pid, timeMs } = line;
  if (text.trim() === "") return undefined;
  const origin = { "log.iostream": stream, "svc.worker.name": worker, ...(pid === undefined ? {} : { "svc.worker.pid": pid }) };
  const json = text.startsWith("{") ? levelledJson(text) : undefined;
  if (json === undefined) return { timeMs, severity: INFO, body: text, attributes: origin, service: worker };
  const { members, severity } = json;
  const logId = textOf(members.log_id);
  const attributes: Record<string, AttributeValue> = Object.create(null);
  for (const [name, value] of Object.entries(members)) if (!TAKEN.has(name)) Object.assign(attributes, attributesOf(name, value));
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

/** What a line says of why its process ended: the message of an error with that of what was caught, or plain text. Undefined: it tells of something lesser. */
export function causeIn(text: string): string | undefined {
  const json = text.startsWith("{") ? levelledJson(text) : undefined;
  if (json === undefined) return text;
  const { members, severity } = json;
  if (severity < ERROR) return undefined;
  const message = textOf(members.message) ?? textOf(members.msg);
  const caught = members.error ?? members.err;
  const cause = typeof caught === "object" && caught !== null && !isList(caught) ? textOf(caught.message) : undefined;
  const known = [message, cause === message ? undefined : cause].filter((part) => part !== undefined && part !== "");
  return known.length === 0 ? text : known.join(": ");
}

/** Whether it is a line of our SDKs' loggers, which an SDK may send by itself as well. */
export function isOfOurLogger({ attributes }: LogEntry): boolean {
  return attributes !== undefined && Object.hasOwn(attributes, LOG_ID);
}

function levelledJson(text: string): { readonly members: Attributes; readonly severity: number } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  // It is JSON, so that all in it is what an attribute may be.
  const members = value as Attributes;
  const named = members.level ?? members.severity;
  const severity = typeof named === "string" || typeof named === "number" ? SEVERITIES.get(String(named).toLowerCase()) : undefined;
  return severity === undefined ? undefined : { members, severity };
}

/** An error among the fields, as our SDKs write it, becomes OpenTelemetry's attributes of an exception. */
function attributesOf(name: string, value: AttributeValue): Attributes {
  if ((name !== "error" && name !== "err") || typeof value !== "object" || value === null || isList(value)) return { [name]: value };
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
