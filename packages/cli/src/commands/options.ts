import { type Command, InvalidArgumentError, Option } from "commander";

/** Options that select the engine. */
export interface EngineOptions {
  readonly url?: string | undefined;
  readonly config?: string | undefined;
}

/** Adds `--url` and `--config` to a command. */
export function withEngineOptions(command: Command): Command {
  return command.addOption(urlOption()).addOption(configOption("config file that gives the bridge port"));
}

/** Merges a command's options with the options of its parents, because `--config` may come before the command. */
export function allOptions<Options extends object>(options: Options, command: Command): Options & EngineOptions {
  return { ...options, ...command.optsWithGlobals<EngineOptions>() };
}

/** The option `--json` of every command that prints data. */
export function jsonOption(description = "print JSON"): Option {
  return new Option("--json", description);
}

/** The option `--quiet-ids` of commands that print the output of workers. */
export function quietIdsOption(): Option {
  return new Option("--quiet-ids", "leave out the ids of calls, traces, workers and triggers in log lines");
}

/**
 * The option `--config`. It has no default, because a default would override the value of a `--config` before the
 * command, as in `svc --config FILE COMMAND`.
 */
export function configOption(description: string): Option {
  return new Option("-c, --config <file>", `${description} (default: "config.yaml")`);
}

export function urlOption(): Option {
  return new Option(
    "--url <url>",
    "address of the engine, or of several of a cluster, separated by commas (default: SVC_URL, then the running engine of config.yaml, then its bridge port, then ws://localhost:49134)",
  );
}

/** Parses a TCP port. 0 picks a free port. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError("Expected a port from 0 to 65535; 0 picks a free one.");
  return port;
}

/** Returns a parser of integers from `least` to `most`. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
    return value;
  };
}

/** The option `--limit` of commands that print a list: the maximum number of rows. */
export function limitOption(what: string, byDefault: number): Option {
  return new Option("--limit <n>", `maximum number of ${what}, 1 to 1000`)
    .argParser(wholeNumber(1, 1_000))
    .default(byDefault);
}

/** Maximum of `--tail`. */
const MAX_TAIL = 5_000;

/**
 * Adds `--tail`, the number of last lines, to a command that shows logs. Also accepts `--limit`, the name of this
 * option in commands that print lists.
 */
export function withTail(command: Command, what: string, byDefault: number): Command {
  const parse = wholeNumber(0, MAX_TAIL);
  return command
    .addOption(
      new Option("-n, --tail <n>", `number of the last ${what} to show, 0 to ${MAX_TAIL}; new ones follow them`)
        .argParser(parse)
        .default(byDefault),
    )
    .addOption(new Option("--limit <n>", "the same as --tail").argParser(parse))
    .on("option:limit", (text: string) => command.setOptionValueWithSource("tail", parse(text), "implied"));
}

/**
 * Returns `--limit` if the unknown option is `--tail` or `-n` and the command has `--limit`. Otherwise returns
 * undefined.
 */
export function limitForTail(command: Command, option: string): string | undefined {
  const isTail = option === "--tail" || option === "-n";
  return isTail && command.options.some(({ long }) => long === "--limit") ? "--limit" : undefined;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_DURATION_MS = 3_650 * 86_400_000;

/** Parses a duration, e.g. `90s`, `10m`, `1h30m`. Returns milliseconds. */
export function parseDuration(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new InvalidArgumentError('Expected a duration, e.g. "90s", "10m", "1h30m" or "2d".');
  return ms;
}

/**
 * Parses a time (`2026-01-31T10:00:00Z`, `2026-01-31`), or a duration (`10m`), which means the time that long ago.
 * Returns milliseconds since 1970.
 */
export function parseSince(text: string): number {
  const agoMs = durationMs(text);
  if (agoMs !== undefined) return Date.now() - agoMs;
  const instant = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(instant))
    throw new InvalidArgumentError(
      'Expected a duration ago, e.g. "10m" or "2h", or a time, e.g. "2026-01-31T10:00:00Z".',
    );
  return instant;
}

function durationMs(text: string): number | undefined {
  if (!/^(?:\d+(?:ms|[smhd]))+$/.test(text)) return undefined;
  const ms = [...text.matchAll(/(\d+)(ms|[smhd])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (UNIT_MS[unit ?? ""] ?? 0),
    0,
  );
  return ms > MAX_DURATION_MS ? undefined : ms;
}

/** Parses a trace id, or the first characters of one. */
export function parseTraceId(text: string): string {
  if (!/^[0-9a-f]{1,32}$/i.test(text))
    throw new InvalidArgumentError(
      "A trace id has 32 hexadecimal digits; the first ones are enough. To filter instead, pass --query.",
    );
  return text.toLowerCase();
}

/** Collects the values of a repeatable option. */
export function repeated(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
