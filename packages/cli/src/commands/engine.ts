import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { EngineFlag, Logger, LogLevel, LogRecord, RunningEngine } from "@svc-runtime/engine";
import { type Command, Option } from "commander";
import { DEFAULT_CONFIG_FILE } from "../engine/engine-address.ts";
import { startSummary } from "../engine/start-summary.ts";
import { CommandFailure, EXIT_MEANINGS } from "../exit-codes.ts";
import { type LogForm, textLine } from "../logs/log-lines.ts";
import { withShortIds } from "../logs/short-ids.ts";
import type { Shell } from "../shell.ts";
import { listenForStop, type StopRequests } from "../stop-requests.ts";
import { askedAsOption, typedWords } from "../typed-command.ts";
import { workerRecordOf } from "../workers/worker-record.ts";
import { engineFlags } from "./engine-flags.ts";
import { configOption, parsePort } from "./options.ts";
import { UnknownCommand } from "./unknown-command.ts";

interface EngineOptions {
  readonly config?: string;
  readonly bridgePort?: number;
  readonly httpPort?: number;
  readonly wsPort?: number;
  readonly log?: LogForm;
  readonly stopWithStdin?: true;
  readonly askedAs?: readonly string[];
  readonly share?: string;
  /** Values of the flags in `engineFlags`. The names are those that commander derives from the flags. */
  readonly [flag: string]: unknown;
}

/** Configures `svc` without a command: it runs the engine in the foreground until it is stopped. */
export function configureEngineCommand(program: Command, shell: Shell): void {
  program
    .addOption(configOption("config file of the engine"))
    .option("--bridge-port <port>", "port for workers; overrides the config file (default: 49134)", parsePort)
    .option("--http-port <port>", "port of the HTTP API; overrides the config file (default: 3111)", parsePort)
    .option("--ws-port <port>", "port of the real-time WebSocket; overrides the config file (default: 3112)", parsePort)
    .addOption(
      new Option(
        "--log <form>",
        "format of the log on standard error (default: text on a terminal, otherwise json)",
      ).choices(["text", "json"]),
    );
  for (const flag of engineFlags) program.addOption(optionOf(flag));
  program
    .option("--stop-with-stdin", "stop when standard input ends; for programs that start the engine as a child process")
    .addOption(askedAsOption())
    .addOption(new Option("--share <json>", "which of several engines it is, for `svc dev --cluster`").hideHelp())
    .allowExcessArguments()
    .addHelpText(
      "after",
      `
Examples:
  svc create --template quickstart --directory quickstart
  svc --config config.yaml
  svc worker add ./workers/math-worker
  svc trigger --function-id=math::add --payload='{"a": 2, "b": 3}'

Exit status:
${Object.entries(EXIT_MEANINGS)
  .map(([code, meaning]) => `  ${code.padEnd(2)}  ${meaning}\n`)
  .join("")}`,
    )
    .action((options: EngineOptions) => {
      const [unknown] = program.args;
      if (unknown !== undefined) throw new UnknownCommand(program, unknown);
      return runEngine(shell, { ...options, askedAs: options.askedAs ?? typedWords(program) });
    });
}

function optionOf({ usage, description, choices, default: fallback }: EngineFlag): Option {
  const option = new Option(
    usage,
    fallback === undefined ? description : `${description} (default: ${String(fallback)})`,
  );
  return choices === undefined ? option : option.choices(choices);
}

/** Returns the settings from flags, by the names that the engine uses, e.g. `mode` for `--prod`. */
function flagValues(options: EngineOptions): Readonly<Record<string, unknown>> {
  const given = engineFlags.flatMap((flag) => {
    const value = options[optionOf(flag).attributeName()];
    return value === undefined ? [] : [[flag.option, flag.sets ?? value]];
  });
  return Object.fromEntries(given) as Readonly<Record<string, unknown>>;
}

async function runEngine(shell: Shell, options: EngineOptions): Promise<void> {
  const configFile = resolve(shell.cwd, options.config ?? DEFAULT_CONFIG_FILE);
  requireConfigFile(configFile, options);
  const form = options.log ?? (shell.noteColumns === undefined ? "json" : "text");
  const stop = listenForStop(shell, {
    stdin: options.stopWithStdin ? "stops" : "ignored",
    nowMs: () => performance.now(),
  });
  const atOnce = stop.second.then((signal) => {
    throw new CommandFailure(`Stopped at once (${signal}); calls in flight were dropped.`);
  });
  try {
    await Promise.race([serve(shell, { configFile, form, stop, options }), atOnce]);
  } finally {
    stop.forget();
  }
}

interface Serving {
  readonly configFile: string;
  readonly form: LogForm;
  readonly stop: StopRequests;
  readonly options: EngineOptions;
}

async function serve(shell: Shell, { configFile, form, stop, options }: Serving): Promise<void> {
  const engine = await start(shell, { configFile, form, options });
  if (form === "text") shell.note(startSummary(engine, shell));
  const signal = await stop.first;
  if (form === "text")
    shell.note(`Stopping (${signal}): finishing the calls in flight. Press Ctrl-C again to stop at once.\n`);
  await engine.stop();
  if (form === "text") shell.note("Stopped.\n");
}

/** Throws if the config file is missing, with advice on how to create one. */
export function requireConfigFile(configFile: string, options: { readonly config?: string }): void {
  if (existsSync(configFile)) return;
  throw new CommandFailure(`There is no config file ${configFile}.`, {
    advice: [
      "A new project: svc create --template quickstart --directory quickstart",
      options.config === undefined
        ? "An existing one: go to its folder, or pass --config FILE."
        : "An empty config file holds one line: workers: []",
    ],
  });
}

/** Returns the record to print. A line that a worker logged is printed as a line of the worker, not of the engine. */
function readable(record: LogRecord): LogRecord {
  const ofWorker = workerRecordOf(record);
  if (ofWorker === undefined) return record;
  const { message, fields } = ofWorker.record;
  return {
    ...record,
    message: `${ofWorker.service}: ${message}`,
    fields: withShortIds(fields, { quiet: false }),
  };
}

async function start(shell: Shell, { configFile, form, options }: Omit<Serving, "stop">): Promise<RunningEngine> {
  // Imported lazily, so that other commands do not have to wait for loading the engine's code.
  const [{ createLogger, jsonLine, nodeShareSchema, startEngine }, { explainStartFailure }] = await Promise.all([
    import("@svc-runtime/engine"),
    import("../engine/start-failure.ts"),
  ]);
  const overrides = {
    bridgePort: options.bridgePort,
    httpPort: options.httpPort,
    realtimePort: options.wsPort,
    ...(options.share === undefined ? {} : { share: nodeShareSchema.parse(JSON.parse(options.share)) }),
    ...flagValues(options),
  };
  let engine: RunningEngine | undefined;
  const logger: Logger = createLogger({
    // The level of the config file applies as soon as the file is loaded, and follows changes of the file.
    get level() {
      return engine?.config.engine.logLevel ?? (options.logLevel as LogLevel | undefined) ?? "info";
    },
    now: Date.now,
    write: (record) => shell.note(`${form === "json" ? jsonLine(record) : textLine(readable(record), shell.paint)}\n`),
  });
  try {
    engine = await startEngine({ configFile, overrides, env: shell.env, logger });
    return engine;
  } catch (error) {
    throw await explainStartFailure(error, options.askedAs ?? ["svc"]);
  }
}
