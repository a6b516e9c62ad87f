export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Levels. `debug`: single connections and frames. `info`: starts, stops and changes. `warn`: a problem that the engine
 * handled. `error`: the engine failed to do its work. A message is a constant sentence; variable facts are fields.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds `fields` to every record. */
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

/** Creates a logger that passes each record at or above `level` to `write`. */
export function createLogger(
  options: { readonly level: LogLevel; readonly now: () => number; readonly write: (record: LogRecord) => void },
  fields: LogFields = {},
): Logger {
  const log = (level: LogLevel, message: string, more: LogFields | undefined): void => {
    if (RANK[level] < RANK[options.level]) return;
    options.write({
      time: options.now(),
      level,
      message,
      fields: more === undefined ? fields : { ...fields, ...more },
    });
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
 * Returns a logger that writes to `logger` and also passes each record at or above `level` to `observe`. Records logged
 * while `observe` runs are not passed on, so `observe` may log.
 */
export function observedLogger(
  logger: Logger,
  options: {
    readonly level: () => LogLevel;
    readonly now: () => number;
    readonly observe: (record: LogRecord) => void;
  },
): Logger {
  let isObserving = false;
  const observed = (inner: Logger, fields: LogFields): Logger => {
    const log = (level: LogLevel, message: string, more: LogFields | undefined): void => {
      inner[level](message, more);
      if (isObserving || RANK[level] < RANK[options.level()]) return;
      isObserving = true;
      try {
        options.observe({
          time: options.now(),
          level,
          message,
          fields: more === undefined ? fields : { ...fields, ...more },
        });
      } finally {
        isObserving = false;
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

/** Returns one JSON line: time, level, message, then the fields. Errors become their message and stack. */
export function jsonLine(record: LogRecord): string {
  return JSON.stringify(
    { time: new Date(record.time).toISOString(), level: record.level, message: record.message, ...record.fields },
    (_key, value: unknown) =>
      value instanceof Error ? { message: value.message, stack: value.stack, cause: value.cause } : value,
  );
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLogger,
};
