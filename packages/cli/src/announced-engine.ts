import { lstatSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { listedDataDir } from "./config-entries.ts";
import type { Shell } from "./shell.ts";

/** An engine that runs, as it says itself. */
export interface AnnouncedEngine {
  readonly url: string;
  /** URLs of its HTTP API and of its real-time listener; undefined where it does not tell. */
  readonly http: string | undefined;
  readonly realtime: string | undefined;
  /** The token in its token file; undefined when it has none, or the file is not for us to read. */
  readonly token: string | undefined;
  /** Path of that file as the engine wrote it; undefined when its token is a configured one. */
  readonly tokenFile: string | undefined;
  /** Key by which it proves that it is the engine of this data folder; undefined when it is too old for that. */
  readonly proofKey: string | undefined;
}

/**
 * The engine that runs for a config file, as it wrote it into its data folder; undefined when none runs. An engine that was
 * killed leaves the file behind, hence the look at its process. Another process may have its pid by now: before anything secret is sent there,
 * `requireProof` has to be asked.
 */
export function announcedEngine(shell: Pick<Shell, "env" | "cwd">, configFile: string): AnnouncedEngine | undefined {
  const variable = shell.env.SVC_DATA_DIR ?? "";
  const dataDir = variable === "" ? listedDataDir(configFile, shell.env) : resolve(shell.cwd, variable);
  const facts = readFacts(join(dataDir, "engine.json"));
  if (facts === undefined || !isRunning(facts.pid) || !isSocketUrl(facts.bridge)) return undefined;
  const { bridge, http, realtime, tokenFile, proofKey } = facts;
  return { url: bridge, http, realtime, token: tokenFile === undefined ? undefined : readToken(tokenFile), tokenFile, proofKey };
}

/** As the engine writes it: 16 to 512 characters without blanks. */
const TOKEN = /^[\x21-\x7e]{16,512}$/;

/**
 * What stands in the file goes to the address that stands beside it, and both may have come with somebody's repository: so it is read only
 * where an engine keeps its token, not through a link, and sent only if it looks like one.
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

/** Undefined when the file is not there, is not for us to read, or holds something else. */
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
  return { pid: Number(pid), bridge, http: addressOf("http"), realtime: addressOf("realtime"), tokenFile: textOf("token_file"), proofKey: textOf("proof_key") };
}

function isSocketUrl(text: string): boolean {
  return URL.canParse(text) && ["ws:", "wss:"].includes(new URL(text).protocol);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, but another user's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
