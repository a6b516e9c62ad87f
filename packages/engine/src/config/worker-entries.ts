import { statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { didYouMean } from "@svc-runtime/protocol";
import { z } from "zod";
import { workerNameProblem } from "../local-workers/worker-name.ts";
import type { FileProblem } from "../yaml/problem.ts";
import { kindOf, problemAt, schemaProblems, unknownKey } from "../yaml/schema-problems.ts";
import type { KeyPath, YamlSource } from "../yaml/source.ts";
import { type BridgeBlock, bridgeBlockSchema } from "./blocks/access-block.ts";
import { commandsOf, execBlockSchema } from "./blocks/exec-block.ts";
import { folderSchema } from "./blocks/folder-path.ts";
import { type HttpFunctionsBlock, httpFunctionsEntrySchema } from "./blocks/http-functions-block.ts";
import { envFilesOf, localWorkerSchema, MAX_REPLICAS, readEnvironment } from "./blocks/local-worker-block.ts";
import { limitsOf, watchOf } from "./blocks/supervision-block.ts";
import { adapterInCluster, type ClusteredBy } from "./cluster-adapters.ts";
import {
  adapterNameOfClass,
  BRIDGE_ENTRY,
  canonicalModuleName,
  HTTP_FUNCTIONS_ENTRY,
  MODULE_CLASSES,
  MODULE_NAMES,
  moduleNameOfClass,
  replacementOf,
} from "./compatibility-names.ts";
import { dependencyProblems } from "./dependency-problems.ts";
import type { AddressBlock } from "./engine-settings.ts";
import { addressBlockSchema } from "./listen-address.ts";
import type { CommandEntry, LocalWorkerEntry, ModuleEntry, SupervisedEntry, WorkerFolder } from "./types.ts";

/** A module of this engine. The kernel's `Module` implements it. */
export interface KnownModule {
  readonly name: string;
  /** Schema of the `config` of the module's entries. It must reject unknown keys (`z.strictObject`). */
  readonly config: z.ZodType;
}
export type KnownModules = readonly KnownModule[];

export interface ReadEntries {
  readonly modules: readonly ModuleEntry[];
  readonly localWorkers: readonly LocalWorkerEntry[];
  readonly commands: readonly CommandEntry[];
  /**
   * Addresses from the blocks of `svc-http` and `svc-stream`, and the first entry of an older file for the worker
   * socket.
   */
  readonly http: AddressBlock;
  readonly realtime: AddressBlock;
  readonly bridge: BridgeBlock | undefined;
  /** Further entries of an older file for the worker socket. */
  readonly furtherBridges: readonly BridgeBlock[];
  /** Settings from the entry for HTTP functions of an older file. */
  readonly httpFunctions: HttpFunctionsBlock | undefined;
  /** Folders of all local workers, including those whose entry has problems. */
  readonly folders: readonly WorkerFolder[];
  readonly problems: readonly FileProblem[];
  readonly warnings: readonly string[];
}

export interface ReadContext {
  readonly file: string;
  readonly yaml: YamlSource;
  readonly modules: KnownModules;
  /** Where the engine's cluster is configured. */
  readonly clusteredBy: ClusteredBy;
}

/** Reads the lists `workers:` and `modules:`. Both accept the same entries. */
export function readEntries(top: Readonly<Record<string, unknown>>, context: ReadContext): ReadEntries {
  const reader = new EntryReader(context);
  for (const list of ["modules", "workers"]) {
    if (Object.hasOwn(top, list)) reader.readList(list, top[list]);
  }
  reader.checkOrder();
  return reader;
}

const LISTENING: ReadonlyMap<string, "http" | "realtime"> = new Map([
  ["svc-http", "http"],
  ["svc-stream", "realtime"],
]);
const EXEC = "svc-exec";
const MODULE_KEYS = ["name", "config"];
const LOCAL_KEYS = Object.keys(localWorkerSchema.shape);
const MAX_SHOWN_CHARACTERS = 60;
const LOCAL_EXAMPLE = "`- name: NAME` with `path: ./workers/NAME` below it";

const nameSchema = z.object({ name: z.string().optional().catch(undefined) }).catch({});
const commandNamesSchema = z
  .object({ config: z.object({ commands: z.array(nameSchema) }) })
  .transform(({ config }) => config.commands)
  .catch([]);

type Entry = Readonly<Record<string, unknown>>;

/** Returns the names in an entry that other entries may depend on. */
function namesIn(entry: unknown): string[] {
  return [nameSchema.parse(entry), ...commandNamesSchema.parse(entry)].flatMap(({ name }) => name ?? []);
}

class EntryReader implements ReadEntries {
  readonly modules: ModuleEntry[] = [];
  readonly localWorkers: LocalWorkerEntry[] = [];
  readonly commands: CommandEntry[] = [];
  /** Location of the `depends_on` of each worker and command. */
  readonly #orderPaths = new Map<SupervisedEntry, KeyPath>();
  /** Names of entries that have problems. A dependency on such an entry is not reported as unknown. */
  readonly #namesWithProblems: string[] = [];
  readonly folders: WorkerFolder[] = [];
  readonly problems: FileProblem[] = [];
  readonly warnings: string[] = [];
  http: AddressBlock = {};
  realtime: AddressBlock = {};
  bridge: BridgeBlock | undefined;
  readonly furtherBridges: BridgeBlock[] = [];
  httpFunctions: HttpFunctionsBlock | undefined;
  readonly #file: string;
  readonly #yaml: YamlSource;
  readonly #known: ReadonlyMap<string, KnownModule>;

  readonly #clusteredBy: ClusteredBy;

  constructor(context: ReadContext) {
    this.#clusteredBy = context.clusteredBy;
    this.#file = context.file;
    this.#yaml = context.yaml;
    this.#known = new Map(context.modules.map((module) => [module.name, module]));
  }

  readList(key: string, value: unknown): void {
    if (!Array.isArray(value)) {
      const example = value === null ? `write \`${key}: []\` for none` : `each begins with \`- name: …\``;
      this.#refuse([key], `must be a list of entries, got ${kindOf(value)}; ${example}`);
      return;
    }
    for (const [index, entry] of value.entries()) {
      const before = this.problems.length;
      this.#readEntry(entry, [key, index]);
      // The entry's own problems are already reported, so a dependency on it must not be reported too.
      if (this.problems.length > before) this.#namesWithProblems.push(...namesIn(entry));
    }
  }

  /** Must be called once, after all entries are read. */
  checkOrder(): void {
    const ordered = [...this.#orderPaths].map(([{ name, dependsOn, where }, path]) => ({
      name,
      dependsOn,
      where,
      path,
    }));
    const others = [...this.modules.map(({ name }) => name), ...this.#namesWithProblems];
    for (const { of, index, message } of dependencyProblems(ordered, others))
      this.#refuse([...of.path, index], message);
  }

  #readEntry(entry: unknown, path: KeyPath): void {
    if (entry === undefined) return;
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
      const example =
        typeof entry === "string"
          ? `write \`- name: ${entry.slice(0, MAX_SHOWN_CHARACTERS)}\``
          : `write ${LOCAL_EXAMPLE}, or \`- name: svc-state\``;
      this.#refuse(path, `must be a block of keys, got ${kindOf(entry)}; ${example}`);
      return;
    }
    const keys = entry as Entry;
    if (Object.hasOwn(keys, "path") || Object.hasOwn(keys, "worker_path")) this.#readLocalWorker(keys, path);
    else if (Object.hasOwn(keys, "image"))
      this.#refuse(
        [...path, "image"],
        `svc runs workers as processes, not from container images; give the entry a path: ${LOCAL_EXAMPLE}`,
      );
    else this.#readModule(keys, path);
  }

  #readModule(entry: Entry, path: KeyPath): void {
    const named = this.#moduleName(entry, path);
    if (named === undefined) return;
    const { name, key } = named;
    for (const other of Object.keys(entry)) {
      if (other === key || other === "config") continue;
      if (LOCAL_KEYS.includes(other) && other !== "name")
        this.#refuse([...path, other], `is only for local workers (entries with a path); ${name} is a module`);
      else this.problems.push(unknownKey(other, { path, yaml: this.#yaml, known: MODULE_KEYS }));
    }
    const replaced = this.#known.has(name) ? undefined : replacementOf(name);
    if (replaced) {
      this.#warn(path, `${JSON.stringify(entry[key])} has no effect: ${replaced.advice}`);
      if (replaced.role === BRIDGE_ENTRY) this.#addBridge(entry.config ?? {}, [...path, "config"]);
      if (replaced.role === HTTP_FUNCTIONS_ENTRY) this.#takeHttpFunctions(entry.config ?? {}, [...path, "config"]);
      return;
    }
    this.#addModule(name, { config: this.#configOf(name, entry.config ?? {}, [...path, "config"]), path, key });
  }

  /**
   * Returns the module's name from `name` or the older `class`. If there is none, reports the problem and returns
   * undefined.
   */
  #moduleName(entry: Entry, path: KeyPath): { readonly name: string; readonly key: "name" | "class" } | undefined {
    if (Object.hasOwn(entry, "class") && Object.hasOwn(entry, "name"))
      return this.#refuse([...path, "class"], "an entry has either a name or the older class, not both; keep the name");
    const key = Object.hasOwn(entry, "class") ? "class" : "name";
    const written = entry[key];
    if (typeof written !== "string")
      return this.#refuse(
        [...path, key],
        `${written === undefined ? "is missing; it " : ""}must be the name of a module, e.g. svc-state, or of a worker with a path`,
      );
    const name =
      key === "class"
        ? moduleNameOfClass(written)
        : (this.#known.get(written)?.name ?? canonicalModuleName(written) ?? written);
    if (name === undefined)
      return this.#refuse(
        [...path, key],
        `no module has the class ${JSON.stringify(written)}${didYouMean(written, MODULE_CLASSES)}`,
      );
    return { name, key };
  }

  #addModule(
    name: string,
    { config, path, key }: { readonly config: unknown; readonly path: KeyPath; readonly key: string },
  ): void {
    const module = this.#known.get(name);
    const isNamed = MODULE_NAMES.some((known) => known === name);
    if (module === undefined && !isNamed) {
      const known = [...new Set([...this.#known.keys(), ...MODULE_NAMES])];
      this.#refuse(
        [...path, key],
        `no module is called ${JSON.stringify(name)}${didYouMean(name, known) || "."} A local worker needs a path: ${LOCAL_EXAMPLE}`,
      );
      return;
    }
    const listener = LISTENING.get(name);
    if (listener !== undefined) this.#takeAddress(listener, config, [...path, "config"]);
    if (module === undefined) {
      this.#warn(
        path,
        `this version of svc does not have the module ${name} yet; the entry has no effect${listener === undefined ? "" : " besides its host and port"}`,
      );
      return;
    }
    const earlier = this.modules.filter((entry) => entry.name === name).length;
    if (this.#check(module.config, config, [...path, "config"]) && name === EXEC)
      this.#addCommands(config, { path: [...path, "config"], instance: earlier + 1 });
    this.modules.push({
      name,
      instance: earlier === 0 ? name : `${name}#${earlier + 1}`,
      config,
      where: this.#where(path),
    });
  }

  #check(schema: z.ZodType, value: unknown, base: KeyPath): boolean {
    const parsed = schema.safeParse(value);
    if (!parsed.success)
      this.problems.push(...schemaProblems(parsed.error.issues, { schema, value, base, yaml: this.#yaml }));
    return parsed.success;
  }

  #addCommands(config: unknown, { path, instance }: { readonly path: KeyPath; readonly instance: number }): void {
    const commands = commandsOf(execBlockSchema.parse(config), {
      folder: dirname(this.#file),
      instance,
      where: (key) => this.#where([...path, ...key]),
      writtenEnv: (index, name) => this.#yaml.writtenTextOf([...path, "commands", index, "env", name]),
    });
    const listed = (config as { readonly commands?: readonly unknown[] }).commands?.length ?? 0;
    for (const [index, command] of commands.entries()) {
      const at = index < listed ? [...path, "commands", index] : [...path, "exec"];
      const problem = this.#nameProblem(command);
      if (problem === undefined) this.#accept(this.commands, command, [...at, "depends_on"]);
      else this.#refuse(index < listed ? [...at, "name"] : at, problem);
    }
  }

  #accept<T extends SupervisedEntry>(list: T[], entry: T, orderPath: KeyPath): void {
    list.push(entry);
    this.#orderPaths.set(entry, orderPath);
  }

  /** Converts an older adapter: `{class: modules::…::KvStore}` becomes `{name: kv}`. */
  #withAdapterName(config: unknown, path: KeyPath): unknown {
    if (typeof config !== "object" || config === null || !Object.hasOwn(config, "adapter")) return config;
    const { adapter } = config as { adapter: unknown };
    if (typeof adapter !== "object" || adapter === null || !Object.hasOwn(adapter, "class")) return config;
    const { class: className, ...rest } = adapter as Record<string, unknown>;
    const name = typeof className === "string" ? adapterNameOfClass(className) : undefined;
    if (name === undefined) {
      this.#refuse(
        [...path, "adapter", "class"],
        "no adapter has this class; write `name:` with in_memory, file_based or redis instead",
      );
      // Remove the adapter, so that the module's schema does not report the same problem again.
      return { ...config, adapter: undefined };
    }
    return { ...config, adapter: { name, ...rest } };
  }

  /**
   * Returns a module's config. An older adapter class is replaced by the adapter's name, and in a cluster the default
   * adapter is filled in.
   */
  #configOf(name: string, written: unknown, path: KeyPath): unknown {
    const config = this.#withAdapterName(written, path);
    if (!this.#known.has(name)) return config;
    const adapter = adapterInCluster(name, config, this.#clusteredBy);
    if (adapter === undefined) return config;
    if ("problem" in adapter) this.#refuse([...path, "adapter"], adapter.problem);
    return { ...(config as object), adapter: "problem" in adapter ? undefined : adapter };
  }

  #takeAddress(listener: "http" | "realtime", config: unknown, path: KeyPath): void {
    const next = this.#address(config, path);
    const taken = this[listener];
    for (const part of ["host", "port"] as const) {
      if (next[part] === undefined || taken[part] === undefined || next[part] === taken[part]) continue;
      this.#refuse(
        [...path, part],
        `an earlier entry sets ${taken[part]}; all entries of the module share one listener, so set its ${part} once`,
      );
    }
    this[listener] = { ...next, ...taken };
  }

  #addBridge(config: unknown, path: KeyPath): void {
    if (!this.#check(bridgeBlockSchema, config, path)) return;
    const block = bridgeBlockSchema.parse(config);
    if (this.bridge === undefined) this.bridge = block;
    else this.furtherBridges.push(block);
  }

  #takeHttpFunctions(config: unknown, path: KeyPath): void {
    if (this.#check(httpFunctionsEntrySchema, config, path))
      this.httpFunctions = (config as z.input<typeof httpFunctionsEntrySchema>).security;
  }

  /** Returns the address keys of a module's block. The module itself checks the other keys. */
  #address(config: unknown, path: KeyPath): AddressBlock {
    if (typeof config !== "object" || config === null) return {};
    const block = Object.fromEntries(
      Object.entries(config).filter(([key]) => Object.hasOwn(addressBlockSchema.shape, key)),
    );
    const parsed = addressBlockSchema.safeParse(block);
    if (parsed.success) return parsed.data;
    this.#check(addressBlockSchema, block, path);
    return {};
  }

  #readLocalWorker(entry: Entry, path: KeyPath): void {
    const written = folderSchema.safeParse(entry.path ?? entry.worker_path);
    if (written.success)
      this.folders.push({ path: resolve(dirname(this.#file), written.data), where: this.#where(path) });
    const parsed = localWorkerSchema.safeParse(entry);
    if (!parsed.success) {
      this.problems.push(
        ...schemaProblems(parsed.error.issues, {
          schema: localWorkerSchema,
          value: entry,
          base: path,
          yaml: this.#yaml,
        }),
      );
      return;
    }
    const { data } = parsed;
    const pathKey = data.path === undefined ? "worker_path" : "path";
    const configuredPath = data[pathKey] ?? "";
    const base = dirname(this.#file);
    const folder = resolve(base, configuredPath);
    const worker: LocalWorkerEntry = {
      name: data.name,
      path: folder,
      configuredPath,
      replicas: data.replicas ?? 1,
      overlap: data.overlap ?? data.restart_order !== "stop_first",
      watch: watchOf(data.watch ?? true),
      dependsOn: data.depends_on ?? [],
      limits: limitsOf(data.limits),
      envFiles: envFilesOf(data, { folder, base }),
      env: readEnvironment(data, path, this.#yaml),
      where: this.#where(path),
    };
    const hasBothOrders = data.overlap !== undefined && data.restart_order !== undefined;
    const hasBothPaths = data.path !== undefined && data.worker_path !== undefined;
    const nameProblem = this.#nameProblem(worker);
    const sharer = this.localWorkers.find((other) => other.path === worker.path);
    if (hasBothPaths) this.#refuse([...path, "worker_path"], "means the same as path; keep path");
    else if (hasBothOrders) this.#refuse([...path, "restart_order"], "is the older form of overlap; keep overlap");
    else if (nameProblem !== undefined) this.#refuse([...path, "name"], nameProblem);
    else if (sharer)
      this.#refuse(
        [...path, pathKey],
        `the same folder is listed at ${sharer.where}; for more processes write \`replicas: 2\` there (up to ${MAX_REPLICAS})`,
      );
    else if (this.#checkEnvFiles(worker, path)) this.#accept(this.localWorkers, worker, [...path, "depends_on"]);
  }

  /** Rejects a missing env file, because the worker would start without its variables. */
  #checkEnvFiles({ envFiles }: LocalWorkerEntry, path: KeyPath): boolean {
    const missing = envFiles.find(
      (file) => file.required && statSync(file.path, { throwIfNoEntry: false })?.isFile() !== true,
    );
    if (missing !== undefined)
      this.#refuse([...path, "env_file"], `file ${missing.path} not found; paths are relative to the config file`);
    return missing === undefined;
  }

  #nameProblem({ name }: SupervisedEntry): string | undefined {
    const problem = workerNameProblem(name);
    if (problem !== undefined) return `the name ${JSON.stringify(name.slice(0, MAX_SHOWN_CHARACTERS))} ${problem}`;
    if (this.#known.has(name) || MODULE_NAMES.some((module) => module === name)) {
      return `${name} is the name of a module; rename the worker, or remove its path to load the module`;
    }
    const twin = [...this.localWorkers, ...this.commands].find((other) => other.name === name);
    return twin && `${JSON.stringify(name)} is already listed at ${twin.where}; names are unique`;
  }

  #refuse(path: KeyPath, message: string): undefined {
    this.problems.push(problemAt(path, this.#yaml, message));
    return undefined;
  }

  #warn(path: KeyPath, message: string): void {
    this.warnings.push(`${this.#where(path)}: ${message}`);
  }

  #where(path: KeyPath): string {
    return `${basename(this.#file)}:${this.#yaml.positionOf(path)?.line ?? 1}`;
  }
}
