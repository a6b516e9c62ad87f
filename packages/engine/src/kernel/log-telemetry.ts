import type { LogLevel, LogRecord } from "./logger.ts";
import type { Attributes, AttributeValue, LogEntry } from "./telemetry-contract.ts";

const SEVERITY_NUMBERS: Readonly<Record<LogLevel, number>> = { debug: 5, info: 9, warn: 13, error: 17 };

/**
 * Converts a record of the engine's own log. Fields become attributes; an error becomes OpenTelemetry's three exception
 * attributes.
 */
export function logEntryOf({ time, level, message, fields }: LogRecord): LogEntry {
  const attributes: Record<string, AttributeValue> = Object.create(null);
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof Error) Object.assign(attributes, exceptionAttributes(value));
    else if (value !== undefined) attributes[name] = attributeValueOf(value);
  }
  return { timeMs: time, severity: SEVERITY_NUMBERS[level], body: message, attributes };
}

function exceptionAttributes(error: Error): Attributes {
  const type = "code" in error && typeof error.code === "string" ? error.code : error.name;
  return {
    "exception.type": type,
    "exception.message": error.message,
    ...(error.stack === undefined ? {} : { "exception.stacktrace": error.stack }),
  };
}

function attributeValueOf(value: unknown): AttributeValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return value;
  try {
    // Copied through JSON, since fields may be any value and may still change.
    return JSON.parse(JSON.stringify(value) ?? "null") as AttributeValue;
  } catch {
    return String(value);
  }
}
