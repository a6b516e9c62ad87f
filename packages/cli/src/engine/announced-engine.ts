import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { listedDataDir } from "../project/config-entries.ts";
import type { Shell } from "../shell.ts";

/** A running engine, as it describes itself in `engine.json`. */
export interface AnnouncedEngine {
  /** Absolute path of its data folder. */
  readonly dataDir: string;
  readonly url: string;
  /** URLs of its HTTP API and its real-time listener. Undefined if the engine does not publish them. */
  readonly http: string | undefined;
  readonly realtime: string | undefined;
  /** The token from its token file. Undefined if there is no such file or the file is not readable. */
  readonly token: string | undefined;
  /** Path of the token file. Undefined if the token comes from the configuration. */
  readonly tokenFile: string | undefined;
  /** Key that proves that the engine owns this data folder. Undefined for engines that are too old to have one. */
  readonly proofKey: string | undefined;
}

/**
 * Returns the running engine of a config file, as described in its data folder, or undefined if no engine runs. Returns
 * the first running engine of `svc dev --cluster`.
 */
export function announcedEngine(shell: Pick<Shell, "env" | "cwd">, configFile: string): AnnouncedEngine | undefined {
  return announcedEngines(shell, configFile)[0];
}

/** Returns the running engine of a config file, or the running engines of its `svc dev --cluster`. */
export function announcedEngines(shell: Pick<Shell, "env" | "cwd">, configFile: string): readonly AnnouncedEngine[] {
  const variable = shell.env.SVC_DATA_DIR ?? "";
  const dataDir = variable === "" ? listedDataDir(configFile, shell.env) : resolve(shell.cwd, variable);
  const alone = engineIn(dataDir);
  return alone === undefined ? clusterDataDirs(configFile).flatMap((folder) => engineIn(folder) ?? []) : [alone];
}

/** Returns the folder in which `svc dev --cluster` keeps its files. */
export function clusterFolder(configFile: string): string {
  return join(dirname(configFile), ".svc/cluster");
}

function clusterDataDirs(configFile: string): readonly string[] {
  const folder = clusterFolder(configFile);
  try {
    return readdirSync(folder)
      .filter((name) => /^[a-i]$/.test(name))
      .sort()
      .map((name) => join(folder, name, "data"));
  } catch {
    return [];
  }
}

/**
 * Returns the running engine of a data folder, or undefined if no engine runs. A killed engine leaves its `engine.json`
 * behind, so its process is checked. Meanwhile another process may have the same pid. So callers must use
 * `requireProof` before they send a secret.
 */
export function engineIn(dataDir: string): AnnouncedEngine | undefined {
  const facts = readFacts(join(dataDir, "engine.json"));
  if (facts === undefined || !isRunning(facts.pid) || !isSocketUrl(facts.bridge)) return undefined;
  const { bridge, http, realtime, tokenFile, proofKey } = facts;
  return {
    dataDir,
    url: bridge,
    http,
    realtime,
    token: tokenFile === undefined ? undefined : readToken(tokenFile),
    tokenFile,
    proofKey,
  };
}

/** Format of a token file's content: 16 to 512 printable characters without blanks. */
const TOKEN = /^[\x21-\x7e]{16,512}$/;

/**
 * Reads the token file. Returns undefined if the file is not at the engine's usual path, is a link, or has no valid
 * token. Without these checks, a cloned repository could make svc send the content of another file to an address in its
 * `engine.json`.
 */
function readToken(file: string): string | undefined {
  if (basename(file) !== "token" || basename(dirname(file)) !== ".svc") return undefined;
  try {
    if (!lstatSync(file).isFile()) return undefined;
    const token = readFileSync(file, "utf8").trim();
    return TOKEN.test(token) ? token : undefined;
  } catch {
    return undefined;
  }
}

interface Facts {
  readonly pid: number;
  readonly bridge: string;
  readonly http: string | undefined;
  readonly realtime: string | undefined;
  readonly tokenFile: string | undefined;
  readonly proofKey: string | undefined;
}

/** Reads `engine.json`. Returns undefined if the file is missing, unreadable or malformed. */
function readFacts(file: string): Facts | undefined {
  let facts: unknown;
  try {
    facts = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
  if (typeof facts !== "object" || facts === null || !("pid" in facts) || !("bridge" in facts)) return undefined;
  const { pid, bridge } = facts;
  if (!Number.isSafeInteger(pid) || Number(pid) <= 0 || typeof bridge !== "string") return undefined;
  const textOf = (name: string): string | undefined => {
    const value: unknown = Object.hasOwn(facts, name) ? Reflect.get(facts, name) : undefined;
    return typeof value === "string" ? value : undefined;
  };
  const addressOf = (name: string): string | undefined => {
    const value = textOf(name);
    return value !== undefined && URL.canParse(value) ? value : undefined;
  };
  return {
    pid: Number(pid),
    bridge,
    http: addressOf("http"),
    realtime: addressOf("realtime"),
    tokenFile: textOf("token_file"),
    proofKey: textOf("proof_key"),
  };
}

function isSocketUrl(text: string): boolean {
  return URL.canParse(text) && ["ws:", "wss:"].includes(new URL(text).protocol);
}

/** Returns true if a process with this id runs, even if another user owns it. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
