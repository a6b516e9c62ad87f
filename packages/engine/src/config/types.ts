import type { AccessSettings } from "../access/settings.ts";
import type { EnvFile } from "../local-workers/env-file.ts";
import { FileError, type FileProblem } from "../yaml/problem.ts";
import type { ClusterSettings } from "./blocks/cluster-block.ts";
import type { EngineOptionSettings } from "./engine-options.ts";
import type { ListenAddress } from "./listen-address.ts";

export type { ListenAddress, TlsFiles } from "./listen-address.ts";

/**
 * The `engine:` block of the config file, with defaults filled in. Environment variables and flags are already applied.
 * Paths are absolute.
 */
export interface EngineSettings extends EngineOptionSettings {
  /** Worker WebSocket. Default 127.0.0.1:49134. */
  readonly bridge: ListenAddress;
  /** Access rules of `bridge`. */
  readonly bridgeAccess: AccessSettings;
  /** Further listeners for workers. Default none. */
  readonly bridges: readonly BridgeListener[];
  /** How the engine takes part in a cluster; undefined if it is alone. */
  readonly cluster: ClusterSettings | undefined;
}

export interface BridgeListener {
  readonly address: ListenAddress;
  readonly access: AccessSettings;
}

/** One `workers:` entry that names a module of the engine, e.g. `svc-state`. */
export interface ModuleEntry {
  /** Canonical module name; aliases and older `class:` names are already mapped. */
  readonly name: string;
  /** Unique id in the file: `name` for the first entry of a module, `name#2`, `name#3` for further entries. */
  readonly instance: string;
  /** The entry's `config` with variables replaced; `{}` if it has none. The module parses it. */
  readonly config: unknown;
  /** Location of the entry, for messages, e.g. `config.yaml:12`. */
  readonly where: string;
}

/**
 * Patterns of files and folders. A name (`data`, `*.csv`) matches at any depth. A path (`src/generated`, with `**` for
 * any folders) is relative to the watched folder.
 */
export interface WatchPatterns {
  /** Only these files and folders are watched. Empty: all of them. */
  readonly include: readonly string[];
  /** These files and folders are not watched. Generated files are never watched. */
  readonly ignore: readonly string[];
}

export interface Limits {
  /** Maximum memory of one process together with its descendants, in bytes. */
  readonly memoryBytes: number | undefined;
  /** Maximum CPU time, in cores. */
  readonly cpu: number | undefined;
}

/** A worker or command that the engine starts and keeps running. */
export interface SupervisedEntry {
  readonly name: string;
  /** Absolute path of the working folder. */
  readonly path: string;
  /** Number of processes, 1 to 64. Default 1. */
  readonly replicas: number;
  /** Files whose changes restart the process. False: no files are watched. */
  readonly watch: false | WatchPatterns;
  /** Names of entries that must be ready before this one starts. */
  readonly dependsOn: readonly string[];
  readonly limits: Limits;
  /** Variables that are added to the process environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Location of the entry, for messages, e.g. `config.yaml:12`. */
  readonly where: string;
}

/** One `workers:` entry with a `path`: a process that the engine starts and supervises. */
export interface LocalWorkerEntry extends SupervisedEntry {
  /**
   * Path as written in the file. It is kept because a reload must report the entry as changed if only the spelling
   * changes.
   */
  readonly configuredPath: string;
  /** Env files. The process environment overrides them; a later file overrides an earlier one. */
  readonly envFiles: readonly EnvFile[];
  /** True if, on a restart, the old process runs until the new one is ready. Default true. */
  readonly overlap: boolean;
}

/** One command of an `svc-exec` block. */
export interface CommandEntry extends SupervisedEntry {
  /** Shell command. */
  readonly command: string;
  /** When the command restarts after it ended. With `never`, dependents wait until it has ended with exit code 0. */
  readonly restart: "always" | "on_failure" | "never";
}

/** Source of a setting's value, highest precedence first. */
export type SettingSource = "flag" | "env" | "file" | "default";

/** An effective setting. */
export interface EffectiveSetting {
  /**
   * Key in the file, e.g. `engine.bridge.port`. For the listeners of modules: `svc-http.port`, `svc-stream.host` and so
   * on.
   */
  readonly key: string;
  readonly value: string | number | boolean | readonly string[];
  readonly source: SettingSource;
  /** Set if the value is a secret. `value` is then `***`. */
  readonly secret?: true;
}

/** A valid config file with defaults filled in. */
export interface LoadedConfig {
  /** Absolute path of the file. */
  readonly file: string;
  /** Hash of the file's content. */
  readonly revision: string;
  readonly engine: EngineSettings;
  /** HTTP listener of the engine, set by an `svc-http` block. Default 127.0.0.1:3111. */
  readonly http: ListenAddress;
  /** Real-time listener, set by an `svc-stream` block. Default 127.0.0.1:3112. */
  readonly realtime: ListenAddress;
  readonly modules: readonly ModuleEntry[];
  readonly localWorkers: readonly LocalWorkerEntry[];
  /** Commands of all `svc-exec` blocks. */
  readonly commands: readonly CommandEntry[];
  /** Every engine setting and listener address with its source. */
  readonly effective: readonly EffectiveSetting[];
  /** Messages about entries that are accepted, but probably not intended, e.g. names that only the reference has. */
  readonly warnings: readonly string[];
}

/** Folder of a local worker, as configured. */
export interface WorkerFolder {
  /** Absolute path. */
  readonly path: string;
  /** Location of its entry, e.g. `config.yaml:12`. */
  readonly where: string;
}

/** Thrown if a config file cannot be used. */
export class ConfigError extends FileError {
  override readonly name = "ConfigError";
  /** Folders of the local workers in the file, as far as it could be read. */
  readonly folders: readonly WorkerFolder[];

  constructor(file: string, problems: readonly FileProblem[], folders: readonly WorkerFolder[] = []) {
    super(file, problems);
    this.folders = folders;
  }
}
