export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Debug is frames, info is lifecycle, warn is what the engine coped with, error is a promise it broke.
 * A message is a fixed sentence; what varies goes into the fields.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger whose lines all carry `fields`. */
  with(fields: LogFields): Logger;
}

export type LogLevel = "debug" | "info" | "warn" | "error";
const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export interface LogRecord {
  readonly time: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that hands each record at or above `level` to `write`. */
export function createLogger(
  options: { readonly level: LogLevel; readonly now: () => number; readonly write: (record: LogRecord) => void },
  fields: LogFields = {},
): Logger {
  const log = (level: LogLevel, message: string, more: LogFields | undefined): void => {
    if (RANK[level] < RANK[options.level]) return;
    options.write({ time: options.now(), level, message, fields: more === undefined ? fields : { ...fields, ...more } });
  };
  return {
    debug: (message, more) => log("debug", message, more),
    info: (message, more) => log("info", message, more),
    warn: (message, more) => log("warn", message, more),
    error: (message, more) => log("error", message, more),
    with: (more) => createLogger(options, { ...fields, ...more }),
  };
}

/**
 * A logger that also hands each record at or above `level` to `tell`, besides writing it by `logger`. What is logged while `tell` runs is not told, so that
 * whoever is told may log.
 */
export function observedLogger(
  logger: Logger,
  options: { readonly level: () => LogLevel; readonly now: () => number; readonly tell: (record: LogRecord) => void },
): Logger {
  let isTelling = false;
  const observed = (inner: Logger, fields: LogFields): Logger => {
    const log = (level: LogLevel, message: string, more: LogFields | undefined): void => {
      inner[level](message, more);
      if (isTelling || RANK[level] < RANK[options.level()]) return;
      isTelling = true;
      try {
        options.tell({ time: options.now(), level, message, fields: more === undefined ? fields : { ...fields, ...more } });
      } finally {
        isTelling = false;
      }
    };
    return {
      debug: (message, more) => log("debug", message, more),
      info: (message, more) => log("info", message, more),
      warn: (message, more) => log("warn", message, more),
      error: (message, more) => log("error", message, more),
      with: (more) => observed(inner.with(more), { ...fields, ...more }),
    };
  };
  return observed(logger, {});
}

/** One JSON line: time, level, message, then the fields. Errors become their message and stack. */
export function jsonLine(record: LogRecord): string {
  return JSON.stringify(
    { time: new Date(record.time).toISOString(), level: record.level, message: record.message, ...record.fields },
    (_key, value: unknown) => (value instanceof Error ? { message: value.message, stack: value.stack, cause: value.cause } : value),
  );
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLogger,
};
