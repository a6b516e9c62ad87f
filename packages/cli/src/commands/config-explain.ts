import type { ExplainedKey } from "@svc-runtime/engine";
import { CallError, MASK, maskConfig, maskConfigText } from "@svc-runtime/protocol";
import { Command } from "commander";
import { announcedEngine } from "../engine/announced-engine.ts";
import { engineAddress, projectConfigFile } from "../engine/engine-address.ts";
import { withEngine } from "../engine/engine-session.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { sayNote } from "../terminal/notes.ts";
import { table } from "../terminal/table.ts";
import { hangingIndent } from "../terminal/word-wrap.ts";
import { configOption } from "./options.ts";

interface ExplainOptions {
  readonly config?: string;
  readonly json?: true;
}

/** `svc config explain`: explains keys and shows the values in effect. */
export function configExplainCommand(shell: Shell): Command {
  return new Command("explain")
    .summary("explain a key: its meaning, its value and the source of the value")
    .description(
      "Explain a key of the config file: its meaning, type, default, the value that an engine started now would use, and the source of that value: a line of the file, an environment variable, a flag of the running engine, or the default. Secrets are masked. KEY can be a block, e.g. engine.bridge or svc-http; without KEY all keys are listed.",
    )
    .argument("[key]", "e.g. engine.bridge.port, svc-http.cors, workers[0].replicas")
    .addOption(configOption("config file to explain"))
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  svc config explain\n  svc config explain svc-http\n  svc config explain engine.bridge.port --json\n",
    )
    .action((key: string | undefined, options: ExplainOptions, command: Command) =>
      explain(shell, key, { ...options, ...command.optsWithGlobals<{ config?: string }>() }),
    );
}

async function explain(shell: Shell, key: string | undefined, options: ExplainOptions): Promise<void> {
  const file = projectConfigFile(shell, options.config);
  const named = options.config === undefined ? "" : ` --config ${options.config}`;
  const { keys: explained, note } = await explainedKeys(shell, { file, named });
  const keys = withFlags(explained, note === undefined ? await flagsOfRunningEngine(shell, file) : new Map());
  const chosen = key === undefined ? keys : await chosenKeys(keys, { wanted: key, named });
  if (options.json) {
    shell.out(`${JSON.stringify({ file, keys: chosen.map(asJson) })}\n`);
    return;
  }
  if (note !== undefined) sayNote(shell, note);
  const [only] = chosen;
  if (only !== undefined && chosen.length === 1) shell.out(inFull(only, shell.outColumns));
  else {
    const rows = chosen.filter(isShown(key)).map(row);
    shell.out(
      table(["KEY", "VALUE", "FROM", "DESCRIPTION"], rows, {
        columns: shell.outColumns,
        whole: ["KEY"],
        below: "DESCRIPTION",
      }),
    );
  }
}

interface RunningSetting {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
}

/**
 * Returns the settings of the project's running engine that come from its flags, by key. Returns an empty map if no
 * engine runs or the engine rejects the connection.
 */
async function flagsOfRunningEngine(shell: Shell, file: string): Promise<ReadonlyMap<string, unknown>> {
  if (announcedEngine(shell, file) === undefined) return new Map();
  try {
    const settings = await withEngine(
      engineAddress({ ...shell, env: { ...shell.env, SVC_URL: "" } }, { config: file }),
      "svc config explain",
      async (engine) => {
        const result = await engine.call<{ readonly settings: readonly RunningSetting[] }>({
          function_id: "engine::config::effective",
          payload: {},
        });
        return result.settings;
      },
    );
    return new Map(settings.filter(({ source }) => source === "flag").map(({ key, value }) => [key, value]));
  } catch (error) {
    // Ignored: without the flags, the values are still correct for an engine that is started now.
    if (error instanceof CommandFailure || CallError.is(error)) return new Map();
    throw error;
  }
}

function withFlags(keys: readonly ExplainedKey[], flags: ReadonlyMap<string, unknown>): readonly ExplainedKey[] {
  return keys.map((one) =>
    flags.has(one.key)
      ? { ...one, value: flags.get(one.key), source: "flag", where: undefined, written: undefined }
      : one,
  );
}

/** Returns all keys with their values. If the file is missing or invalid, returns the default values and a note. */
async function explainedKeys(
  shell: Shell,
  { file, named }: { readonly file: string; readonly named: string },
): Promise<{ readonly keys: readonly ExplainedKey[]; readonly note: string | undefined }> {
  const { ConfigError, explainConfig, loadModules, readConfigText } = await import("@svc-runtime/engine");
  const options = { env: shell.env, modules: await loadModules(), cwd: shell.cwd };
  const masked = (one: ExplainedKey): ExplainedKey => {
    const value = maskConfig(one.value, one.path);
    // `written` may contain the default value of a variable, which may be a secret.
    const isMasked = JSON.stringify(value)?.includes(MASK);
    return { ...one, value, written: isMasked || one.written === undefined ? undefined : maskConfigText(one.written) };
  };
  try {
    return { keys: explainConfig(file, readConfigText(file), options).map(masked), note: undefined };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { length } = error.problems;
    return {
      keys: explainConfig(file, undefined, options).map((one) =>
        one.default === undefined ? one : { ...one, value: one.default, source: "default" },
      ),
      note: `only defaults: ${length === 1 ? error.message : `${file} has ${length} problems, see svc config check${named}`}`,
    };
  }
}

/**
 * Returns the key and all keys below it. If there is no such key, throws a usage error that suggests the nearest key.
 */
async function chosenKeys(
  keys: readonly ExplainedKey[],
  { wanted, named }: { readonly wanted: string; readonly named: string },
): Promise<readonly ExplainedKey[]> {
  const chosen = keys.filter(({ key }) => key === wanted || key.startsWith(`${wanted}.`));
  if (chosen.length > 0) return chosen;
  const { nearestName } = await import("@svc-runtime/engine/local-workers");
  const ids = keys.map(({ key }) => key);
  const byLastPart = ids.filter((id) => id.endsWith(`.${wanted}`));
  const nearest =
    byLastPart[0] ?? nearestName(wanted, [...ids, ...new Set(ids.map((id) => id.split(".", 1)[0] ?? ""))]);
  throw usageFailure(
    `Unknown key ${JSON.stringify(wanted)}${nearest === undefined ? "." : `; did you mean ${nearest}?`}`,
    `All keys: svc config explain${named}`,
  );
}

/**
 * Returns a filter that selects the keys to list. If the command line has no key, it selects the top two levels and
 * every key that is set.
 */
function isShown(key: string | undefined): (one: ExplainedKey) => boolean {
  return ({ path, source }) => key !== undefined || path.length <= 2 || (source !== undefined && source !== "default");
}

const MAX_VALUE_CHARACTERS = 40;

function row(one: ExplainedKey): readonly string[] {
  const value = one.value === undefined ? "-" : JSON.stringify(one.value);
  return [
    one.key,
    value.length > MAX_VALUE_CHARACTERS ? `${value.slice(0, MAX_VALUE_CHARACTERS - 1)}…` : value,
    origin(one),
    one.description,
  ];
}

/** Returns the source of the value in a few words. */
function origin({ source, where, variable }: ExplainedKey): string {
  if (source === undefined) return "-";
  if (source === "env") return variable ?? "a variable";
  if (source === "flag") return "flag of the running engine";
  return source === "file" ? (where ?? "file") : source;
}

const NAME_WIDTH = 10;

function inFull(one: ExplainedKey, columns: number | undefined): string {
  const { key, description, type, only, variable, written, value } = one;
  const from = written === undefined ? origin(one) : `${origin(one)}, written ${written}`;
  const rows = [
    ["type", type],
    ...(only.length === 0 ? [] : [["only with", only.join(", ")]]),
    ...(one.default === undefined ? [] : [["default", JSON.stringify(one.default)]]),
    ["value", value === undefined ? "none" : `${JSON.stringify(value)}   (${from})`],
    ...(variable === undefined ? [] : [["variable", variable]]),
  ] as const;
  const lines = [
    key,
    ...(description === "" ? [] : hangingIndent("  ", description, columns)),
    "",
    ...rows.flatMap(([name = "", text]) => {
      const head = `  ${name.padEnd(NAME_WIDTH)}`;
      // Values are not wrapped, so that they can be copied.
      return name === "value" ? [`${head}${text}`] : hangingIndent(head, text, columns);
    }),
  ];
  return `${lines.join("\n")}\n`;
}

function asJson(one: ExplainedKey): Readonly<Record<string, unknown>> {
  const { key, description, type, only, variable, value, source, where, written } = one;
  return {
    key,
    description,
    type,
    only_with: only,
    default: one.default ?? null,
    variable: variable ?? null,
    value: value ?? null,
    source: source ?? null,
    where: where ?? null,
    written: written ?? null,
  };
}
