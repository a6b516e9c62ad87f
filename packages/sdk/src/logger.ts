export type LogFields = Readonly<Record<string, unknown>>;

/** A message is a fixed sentence; what varies goes into the fields. */
export interface Logger {
  /** The lowest level that it takes, as far as it tells. Lines below it, or below `info` if it does not tell, are not sent to the engine. */
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
  /** Lines below this level are dropped; `silent` drops all. Default `info`. */
  readonly level?: LogLevel | "silent" | undefined;
  readonly write: (record: LogRecord) => void;
}

/** A logger that hands each record at or above `level` to `write`. */
export function createLogger(options: LoggerOptions): Logger {
  const lowest = options.level ?? "info";
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (reaches(level, lowest)) options.write({ timeMs: Date.now(), level, message, fields });
    };
  return { level: lowest, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Whether a logger of this level takes the line; one that names none may. */
export function reaches(level: LogLevel, lowest: LogLevel | "silent" | undefined): boolean {
  return lowest === undefined || (lowest !== "silent" && LEVELS.indexOf(level) >= LEVELS.indexOf(lowest));
}

/** `SVC_LOG_LEVEL` as a level; anything else counts as `info`. */
export function logLevelFrom(text: string | undefined): LogLevel | "silent" {
  const wanted = text?.trim().toLowerCase();
  return wanted === "silent" ? "silent" : (LEVELS.find((level) => level === wanted) ?? "info");
}

/**
 * One line of JSON: time, level, message, then the fields, none of which can replace those three. Errors become type, code,
 * message, stack and cause; what JSON cannot hold becomes text. Never throws.
 */
export function jsonLine(record: LogRecord): string {
  const head = { time: new Date(record.timeMs).toISOString(), level: record.level, message: record.message };
  try {
    return JSON.stringify({ ...head, ...record.fields, ...head }, writable);
  } catch (thrown) {
    return JSON.stringify({ ...head, fields_error: `the fields cannot be written as JSON: ${thrown instanceof Error ? thrown.message : "unknown"}` });
  }
}

function writable(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  return { type: value.name, code: "code" in value ? value.code : undefined, message: value.message, stack: value.stack, cause: value.cause };
}

export const silentLogger: Logger = { level: "silent", debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The user's logger may throw; a log line must never take the socket's loop with it. */
export function unthrowing(logger: Logger): Logger {
  const guard = (level: LogLevel) => (message: string, fields?: LogFields) => {
    try {
      logger[level](message, fields);
    } catch {
      // There is nowhere left to report to: the logger itself is what failed.
    }
  };
  return { level: logger.level, debug: guard("debug"), info: guard("info"), warn: guard("warn"), error: guard("error") };
}
