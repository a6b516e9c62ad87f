import { type Command, InvalidArgumentError, Option } from "commander";

/** Which engine a command asks. */
export interface EngineOptions {
  readonly url?: string | undefined;
  readonly config?: string | undefined;
}

/** Gives a command `--url` and `--config`. */
export function withEngineOptions(command: Command): Command {
  return command.addOption(urlOption()).addOption(configOption("config file to take the bridge port from"));
}

/** A command's options with those of its parents: `--config` may stand before the command. */
export function allOptions<Options extends object>(options: Options, command: Command): Options & EngineOptions {
  return { ...options, ...command.optsWithGlobals<EngineOptions>() };
}

/** `--json`, as every command takes it that prints data. */
export function jsonOption(description = "print JSON"): Option {
  return new Option("--json", description);
}

/** `--config`, as every command takes it. Without a default here: a value given to `svc` itself would be hidden by it. */
export function configOption(description: string): Option {
  return new Option("-c, --config <file>", `${description} (default: "config.yaml")`);
}

export function urlOption(): Option {
  return new Option(
    "--url <url>",
    "address of the engine (default: SVC_URL, else the engine that runs for config.yaml, else its bridge port, else ws://localhost:49134)",
  );
}

/** A TCP port; 0 picks a free one. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError("It takes a port from 0 to 65535; 0 picks a free one.");
  return port;
}

/** A parser of whole numbers from `least` to `most`. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) throw new InvalidArgumentError(`It takes a whole number from ${least} to ${most}.`);
    return value;
  };
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const LONGEST_MS = 3_650 * 86_400_000;

/** A length of time in milliseconds, e.g. `90s`, `10m`, `1h30m`. */
export function parseDuration(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new InvalidArgumentError('It takes a length of time, e.g. "90s", "10m", "1h30m" or "2d".');
  return ms;
}

/** An instant in milliseconds since 1970: so long ago (`10m`), or a time (`2026-01-31T10:00:00Z`, `2026-01-31`). */
export function parseSince(text: string): number {
  const agoMs = durationMs(text);
  if (agoMs !== undefined) return Date.now() - agoMs;
  const instant = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(instant)) throw new InvalidArgumentError('It takes how long ago, e.g. "10m" or "2h", or a time, e.g. "2026-01-31T10:00:00Z".');
  return instant;
}

function durationMs(text: string): number | undefined {
  if (!/^(?:\d+(?:ms|[smhd]))+$/.test(text)) return undefined;
  const ms = [...text.matchAll(/(\d+)(ms|[smhd])/g)].reduce((sum, [, count, unit]) => sum + Number(count) * (UNIT_MS[unit ?? ""] ?? 0), 0);
  return ms > LONGEST_MS ? undefined : ms;
}

/** The id of a trace, or the beginning of one. */
export function parseTraceId(text: string): string {
  if (!/^[0-9a-f]{1,32}$/i.test(text)) throw new InvalidArgumentError("The id of a trace is 32 hexadecimal digits; its beginning is enough.");
  return text.toLowerCase();
}

/** Collects an option that may be given several times. */
export function repeated(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
