import { maskConfig, maskConfigText } from "@svc-runtime/protocol";
import { Command } from "commander";
import { askAllEngines } from "../engine/cluster-engines.ts";
import { CommandFailure } from "../exit-codes.ts";
import { escapeUnprintable, printable } from "../logs/log-lines.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal/colors.ts";
import { formatBytes } from "../terminal/format-bytes.ts";
import { sayNote } from "../terminal/notes.ts";
import { padded, widest } from "../terminal/text-width.ts";
import { hangingIndent } from "../terminal/word-wrap.ts";
import { processOnly } from "../workers/process-only.ts";
import { type EngineCalls, fullName, inspectWorker, type WorkerInspection } from "../workers/worker-functions.ts";
import { folderAt, looksLikePath, requireFolder } from "../workers/worker-target.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface InspectOptions extends EngineOptions {
  readonly json?: true;
}

/** `svc worker inspect`: shows the resolved manifest of a worker. */
export function workerInspectCommand(shell: Shell): Command {
  const command = new Command("inspect")
    .summary("show the resolved manifest of a worker")
    .description(
      "Show the manifest of a worker with all defaults. By name, it includes the worker's entry in the config file and needs the engine; by folder, it shows only the manifest and needs no engine. Secrets are masked.",
    )
    .argument("<worker>", "name of a worker, as shown by `svc worker list`, or its folder")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc worker inspect math-worker\n  svc worker inspect ./workers/math-worker\n  svc worker inspect math-worker --json\n",
    );
  return withEngineOptions(command).action(async (name: string, own: InspectOptions) => {
    const options = allOptions(own, command);
    const inspection = looksLikePath(name)
      ? await inspectFolder(shell, name)
      : await askAllEngines(shell, { command, options, access: "reads" }, (engine) =>
          inspectByName(engine, fullName(name)),
        );
    shell.out(options.json ? `${JSON.stringify(inspection)}\n` : page(inspection, outPaint(shell), shell.outColumns));
  });
}

function inspectByName(engine: EngineCalls, name: string): Promise<WorkerInspection> {
  return processOnly(engine, name, {
    asked: inspectWorker(engine, name),
    lacks: "manifest",
    instead: `Its settings: svc config explain ${name}`,
  });
}

async function inspectFolder(shell: Shell, shown: string): Promise<WorkerInspection> {
  const folder = folderAt(shell, shown);
  requireFolder({ kind: "local", folder, shown });
  const { ManifestError, readManifest } = await import("@svc-runtime/engine/local-workers");
  try {
    const { name, file, kind, packageManager, entry, install, start, env, watch, warnings } =
      await readManifest(folder);
    for (const warning of warnings) sayNote(shell, warning);
    return {
      name,
      folder,
      manifest_file: file,
      kind,
      package_manager: packageManager ?? null,
      entry: entry ?? null,
      install: install === undefined ? null : maskConfigText(install),
      start: maskConfigText(start),
      env: maskConfig(env, ["env"]),
      watch,
    };
  } catch (error) {
    if (error instanceof ManifestError) throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}

/** Prints one member per line; nested members are indented. */
function page({ name, ...members }: WorkerInspection, paint: Shell["paint"], columns: number | undefined): string {
  const named = Object.fromEntries(Object.entries(readable(members)).map(([member, value]) => [spaced(member), value]));
  return `${[paint.bold(escapeUnprintable(name)), ...rows(named, { paint, columns, indent: "" })].join("\n")}\n`;
}

/** Converts the members to readable values. */
function readable({
  missing_env_files: missing,
  ...members
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { env_files: files, watch, limits } = members;
  return {
    ...members,
    ...(Array.isArray(files) && Array.isArray(missing)
      ? { env_files: files.map((file: unknown) => (missing.includes(file) ? `${String(file)} (not found)` : file)) }
      : {}),
    ...(watch === false ? { watch: "nothing" } : {}),
    ...(isBlock(watch) && Array.isArray(watch.include) && watch.include.length === 0
      ? { watch: { ...watch, include: "everything" } }
      : {}),
    ...(isBlock(limits) ? { limits: readableLimits(limits) } : {}),
  };
}

function readableLimits({
  memory_bytes: memory,
  not_enforced: notEnforced,
  ...limits
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return {
    memory: typeof memory === "number" ? formatBytes(memory) : memory,
    ...limits,
    ...(typeof notEnforced === "string" ? { "not enforced": notEnforced } : {}),
  };
}

function spaced(member: string): string {
  return member.replaceAll("_", " ");
}

function isBlock(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface RowOptions {
  readonly paint: Shell["paint"];
  readonly columns: number | undefined;
  readonly indent: string;
}

function rows(members: Readonly<Record<string, unknown>>, { paint, columns, indent }: RowOptions): readonly string[] {
  const width = widest(Object.keys(members));
  return Object.entries(members).flatMap(([member, value]) => {
    const head = `${indent}${paint.dim(padded(escapeUnprintable(member), width))}`;
    const line = (text: string): readonly string[] =>
      hangingIndent(`${head}  `, text === "" ? paint.dim("none") : text, columns);
    if (value === null || value === undefined) return line("");
    if (Array.isArray(value)) return line(value.map(shownValue).join(", "));
    if (typeof value !== "object") return line(shownValue(value));
    const inner = rows(value as Readonly<Record<string, unknown>>, { paint, columns, indent: `${indent}  ` });
    return inner.length === 0 ? line("") : [head.trimEnd(), ...inner];
  });
}

function shownValue(value: unknown): string {
  return typeof value === "string" ? escapeUnprintable(value) : printable(value);
}
