import { checkedOptions, optionNames } from "./names/option-names.ts";

export type LogFields = Readonly<Record<string, unknown>>;

/** A logger. Messages are constant strings. Variable data goes into the fields. */
export interface Logger {
  /**
   * Lowest level that the logger writes. Lines below it are not sent to the engine either. If it is undefined, the
   * engine gets lines from `info` on.
   */
  readonly level?: LogLevel | "silent" | undefined;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogLevel = "debug" | "info" | "warn" | "error";
const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export interface LogRecord {
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

export interface LoggerOptions {
  /** Drops lines below this level. `silent` drops all. Default `info`. */
  readonly level?: LogLevel | "silent" | undefined;
  readonly write: (record: LogRecord) => void;
}

const loggerOptions = optionNames("createLogger", ["level", "write"]);

/** Returns a logger that passes each record at or above `level` to `write`. */
export function createLogger(options: LoggerOptions): Logger {
  checkedOptions(options, loggerOptions);
  const lowest = options.level ?? "info";
  return loggerOf(lowest, (level, message, fields = {}) => {
    if (isEnabled(level, lowest)) options.write({ timeMs: Date.now(), level, message, fields });
  });
}

/** Returns a logger that passes each line to `write`. `lowest` becomes its `level`. */
export function loggerOf(
  lowest: Logger["level"],
  write: (level: LogLevel, message: string, fields: LogFields | undefined) => void,
): Logger {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => write(level, message, fields);
  return { level: lowest, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/**
 * Returns true if a logger with the lowest level `lowest` writes lines of `level`. If `lowest` is undefined, it writes
 * all lines.
 */
export function isEnabled(level: LogLevel, lowest: LogLevel | "silent" | undefined): boolean {
  return lowest === undefined || (lowest !== "silent" && LEVELS.indexOf(level) >= LEVELS.indexOf(lowest));
}

/** Parses `SVC_LOG_LEVEL`. Unknown values count as `info`. */
export function logLevelFrom(text: string | undefined): LogLevel | "silent" {
  const wanted = text?.trim().toLowerCase();
  return wanted === "silent" ? "silent" : (LEVELS.find((level) => level === wanted) ?? "info");
}

/**
 * Returns one line of JSON: time, level and message, then the fields. A field cannot replace one of these three. Errors
 * become type, code, message, stack and cause. Never throws: values that JSON cannot represent become strings.
 */
export function jsonLine(record: LogRecord): string {
  const head = { time: new Date(record.timeMs).toISOString(), level: record.level, message: record.message };
  try {
    return JSON.stringify({ ...head, ...record.fields, ...head }, toWritable);
  } catch (thrown) {
    return JSON.stringify({
      ...head,
      fields_error: `the fields cannot be written as JSON: ${thrown instanceof Error ? thrown.message : "unknown"}`,
    });
  }
}

function toWritable(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  return {
    type: value.name,
    code: "code" in value ? value.code : undefined,
    message: value.message,
    stack: value.stack,
    cause: value.cause,
  };
}

export const silentLogger: Logger = loggerOf("silent", () => {});

/**
 * Returns a logger that passes lines to a user's logger but never throws. Otherwise a failed log line would stop the
 * socket's event loop.
 */
export function safeLogger(logger: Logger): Logger {
  return loggerOf(logger.level, (level, message, fields) => {
    try {
      logger[level](message, fields);
    } catch {
      // The logger itself failed, so the error cannot be logged.
    }
  });
}
