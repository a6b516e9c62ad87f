import { maskConfig, maskConfigText } from "@svc/protocol";
import type { Worker } from "@svc/sdk";
import { Command } from "commander";
import { askEngine } from "../engine-request.ts";
import { CommandFailure } from "../exit-codes.ts";
import { escapeUnprintable, printable } from "../log-lines.ts";
import { ofProcess } from "../module-refusal.ts";
import { sayNote } from "../remarks.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal-text.ts";
import { padded, widest } from "../text-width.ts";
import { formatBytes } from "../times.ts";
import { hung } from "../word-wrap.ts";
import { fullName, inspectWorker, type WorkerInspection } from "../worker-functions.ts";
import { folderAt, looksLikePath, requireFolder } from "../worker-target.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface InspectOptions extends EngineOptions {
  readonly json?: true;
}

/** `svc worker inspect`: how a worker is run. */
export function workerInspectCommand(shell: Shell): Command {
  const command = new Command("inspect")
    .summary("show how a worker is run: its manifest, resolved")
    .description(
      "Show how a worker is run: its manifest with what it left out filled in. By its name together with its entry in the config file, as the engine has it; by its folder just the manifest, and no engine is needed. Secrets are masked.",
    )
    .argument("<worker>", "name of a worker, as `svc worker list` shows it, or its folder")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc worker inspect math-worker\n  svc worker inspect ./workers/math-worker\n  svc worker inspect math-worker --json\n",
    );
  return withEngineOptions(command).action(async (name: string, own: InspectOptions) => {
    const options = allOptions(own, command);
    const inspection = looksLikePath(name)
      ? await inspectFolder(shell, name)
      : await askEngine(shell, { command, options, access: "reads" }, (engine) => inspectByName(engine, fullName(name)));
    shell.out(options.json ? `${JSON.stringify(inspection)}\n` : page(inspection, outPaint(shell), shell.outColumns));
  });
}

function inspectByName(engine: Worker, name: string): Promise<WorkerInspection> {
  return ofProcess(engine, name, { asked: inspectWorker(engine, name), lacks: "manifest", instead: `Its settings: svc config explain ${name}` });
}

async function inspectFolder(shell: Shell, shown: string): Promise<WorkerInspection> {
  const folder = folderAt(shell, shown);
  requireFolder({ kind: "local", folder, shown });
  const { ManifestError, readManifest } = await import("@svc/engine/local-workers");
  try {
    const { name, file, kind, packageManager, entry, install, start, env, watch, warnings } = await readManifest(folder);
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

/** Each member on a line of its own; members of members are set in. */
function page({ name, ...members }: WorkerInspection, paint: Shell["paint"], columns: number | undefined): string {
  const named = Object.fromEntries(Object.entries(inWords(members)).map(([member, value]) => [spaced(member), value]));
  return `${[paint.bold(escapeUnprintable(name)), ...rows(named, { paint, columns, indent: "" })].join("\n")}\n`;
}

/** The members as people read them. */
function inWords({ missing_env_files: missing, ...members }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { env_files: files, watch, limits } = members;
  return {
    ...members,
    ...(Array.isArray(files) && Array.isArray(missing)
      ? { env_files: files.map((file: unknown) => (missing.includes(file) ? `${String(file)} (not there)` : file)) }
      : {}),
    ...(watch === false ? { watch: "nothing" } : {}),
    ...(isBlock(watch) && Array.isArray(watch.include) && watch.include.length === 0 ? { watch: { ...watch, include: "everything" } } : {}),
    ...(isBlock(limits) ? { limits: limitsInWords(limits) } : {}),
  };
}

function limitsInWords({ memory_bytes: memory, not_enforced: unkept, ...limits }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return {
    memory: typeof memory === "number" ? formatBytes(memory) : memory,
    ...limits,
    ...(typeof unkept === "string" ? { "not enforced": unkept } : {}),
  };
}

function spaced(member: string): string {
  return member.replaceAll("_", " ");
}

function isBlock(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface Look {
  readonly paint: Shell["paint"];
  readonly columns: number | undefined;
  readonly indent: string;
}

function rows(members: Readonly<Record<string, unknown>>, { paint, columns, indent }: Look): readonly string[] {
  const width = widest(Object.keys(members));
  return Object.entries(members).flatMap(([member, value]) => {
    const head = `${indent}${paint.dim(padded(escapeUnprintable(member), width))}`;
    const line = (text: string): readonly string[] => hung(`${head}  `, text === "" ? paint.dim("none") : text, columns);
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
