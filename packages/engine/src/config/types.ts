import type { AccessSettings } from "../kernel/access/settings.ts";
import type { EnvFile } from "../local-workers/env-file.ts";
import { FileError, type FileProblem } from "../yaml/problem.ts";
import type { EngineOptionSettings } from "./engine-options.ts";

/** Where a listener binds. Loopback unless said otherwise; port 0 picks a free one. */
export interface ListenAddress {
  readonly host: string;
  /** 0 to 65535. */
  readonly port: number;
  /** Absent: no TLS. */
  readonly tls?: TlsFiles;
}

/** Absolute paths of PEM files. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** Set: clients must present a certificate that this authority signed. */
  readonly clientCa?: string;
}

/** The `engine:` block of the config file, with defaults filled in. Environment and flags are already applied. Paths are absolute. */
export interface EngineSettings extends EngineOptionSettings {
  /** Worker WebSocket. Default 127.0.0.1:49134. */
  readonly bridge: ListenAddress;
  /** Who may connect there. */
  readonly bridgeAccess: AccessSettings;
  /** Further listeners for workers. Default none. */
  readonly bridges: readonly BridgeListener[];
}

export interface BridgeListener {
  readonly address: ListenAddress;
  readonly access: AccessSettings;
}

/** One `workers:` entry that names a module of the engine, e.g. `svc-state`. */
export interface ModuleEntry {
  /** Canonical module name; aliases and older `class:` names are already mapped. */
  readonly name: string;
  /** Unique in the file: `name` for the first entry of a module, `name#2`, `name#3` for further ones. */
  readonly instance: string;
  /** The `config` value as the file has it, variables replaced, `{}` when there is none; the module parses it. */
  readonly config: unknown;
  /** Where the entry stands, for messages: `config.yaml:12`. */
  readonly where: string;
}

/** Files and folders: a name (`data`, `*.csv`) is meant at any depth, a path (`src/generated`, with `**` for any folders) from the folder on. */
export interface WatchPatterns {
  /** Only these; empty: all. */
  readonly include: readonly string[];
  /** Not these, besides what tools make. */
  readonly ignore: readonly string[];
}

export interface Limits {
  /** Of one process with its descendants. */
  readonly memoryBytes: number | undefined;
  /** Cores. */
  readonly cpu: number | undefined;
}

/** Something that the engine starts and keeps running. */
export interface SupervisedEntry {
  readonly name: string;
  /** Absolute path of the working folder. */
  readonly path: string;
  /** How many processes. Default 1, at most 64. */
  readonly replicas: number;
  /** Which changes of files restart it; false: none. */
  readonly watch: false | WatchPatterns;
  /** Names of entries that must be ready before it is started. */
  readonly dependsOn: readonly string[];
  readonly limits: Limits;
  /** Added to the process environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Where the entry stands, for messages: `config.yaml:12`. */
  readonly where: string;
}

/** Whether a restart starts the new process or stops the former one first. */
export type RestartOrder = "start_first" | "stop_first";

/** One `workers:` entry with a `path`: a process that the engine starts and supervises. */
export interface LocalWorkerEntry extends SupervisedEntry {
  /** The path as the file has it, relative to the file. */
  readonly configuredPath: string;
  /** Files of variables, which the process environment overrules; of two with the same name the later counts. */
  readonly envFiles: readonly EnvFile[];
  /** Default `start_first`. */
  readonly restartOrder: RestartOrder;
}

/** One command of an `svc-exec` block. */
export interface CommandEntry extends SupervisedEntry {
  /** Shell command. */
  readonly command: string;
  /** When it is started again after it ended. `never` is for what comes to an end: what depends on it waits for that. */
  readonly restart: "always" | "on_failure" | "never";
}

/** Where a setting's value comes from, strongest first. */
export type SettingSource = "flag" | "env" | "file" | "default";

/** One setting in force. */
export interface EffectiveSetting {
  /** As in the file, e.g. `engine.bridge.port`; the listeners of modules are `svc-http.port`, `svc-stream.host` and so on. */
  readonly key: string;
  readonly value: string | number | boolean | readonly string[];
  readonly source: SettingSource;
  /** The value is not for showing and stands here as `***`. */
  readonly secret?: true;
}

/** A config file, read, checked and filled in. */
export interface LoadedConfig {
  /** Absolute path of the file. */
  readonly file: string;
  /** Hash of the file's content, to tell one version of it from another. */
  readonly revision: string;
  readonly engine: EngineSettings;
  /** Engine HTTP listener. Default 127.0.0.1:3111; `host` and `port` of an `svc-http` block move it. */
  readonly http: ListenAddress;
  /** Real-time listener. Default 127.0.0.1:3112; `host` and `port` of an `svc-stream` block move it. */
  readonly realtime: ListenAddress;
  readonly modules: readonly ModuleEntry[];
  readonly localWorkers: readonly LocalWorkerEntry[];
  /** Of all `svc-exec` blocks. */
  readonly commands: readonly CommandEntry[];
  /** Every engine setting and listener address with where its value comes from. */
  readonly effective: readonly EffectiveSetting[];
  /** What was understood but deserves a word, e.g. names that only the reference has. */
  readonly warnings: readonly string[];
}

/** Where a local worker is said to be. */
export interface WorkerFolder {
  /** Absolute. */
  readonly path: string;
  /** Where its entry stands, e.g. `config.yaml:12`. */
  readonly where: string;
}

/** The config file cannot be used. */
export class ConfigError extends FileError {
  override readonly name = "ConfigError";
  /** Of its local workers, as far as the file could be read. */
  readonly folders: readonly WorkerFolder[];

  constructor(file: string, problems: readonly FileProblem[], folders: readonly WorkerFolder[] = []) {
    super(file, problems);
    this.folders = folders;
  }
}
