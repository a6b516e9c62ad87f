import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "dotenv";
import { RESERVED_VARIABLES } from "./environment.ts";

/** Name of the file in a worker's folder that is read if the worker's entry names no file. */
export const DEFAULT_ENV_FILE = ".env";
const MAX_ENV_FILE_BYTES = 256 * 1024;

/** A file with variables for a worker's processes. */
export interface EnvFile {
  /** Absolute path. */
  readonly path: string;
  /** True if the config names the file. It must exist then. */
  readonly required: boolean;
}

/** Returns the file that is read if the worker's entry names no file. */
export function defaultEnvFile(folder: string): EnvFile {
  return { path: join(folder, DEFAULT_ENV_FILE), required: false };
}

/** Thrown when an env file cannot be used. The message names the file and never shows its contents. */
export class EnvFileError extends Error {
  constructor(file: string, problem: string) {
    super(`${file}: ${problem}`);
    this.name = "EnvFileError";
  }
}

/**
 * Returns the variables of the files. Later files override earlier ones. Variables that only the engine may set are
 * skipped. Throws EnvFileError.
 */
export async function readEnvFiles(files: readonly EnvFile[]): Promise<Readonly<Record<string, string>>> {
  const variables = new Map<string, string>();
  for (const file of files) {
    for (const [name, value] of Object.entries(await readEnvFile(file))) {
      if (!RESERVED_VARIABLES.has(name)) variables.set(name, value);
    }
  }
  return Object.fromEntries(variables);
}

async function readEnvFile({ path, required }: EnvFile): Promise<Readonly<Record<string, string>>> {
  const text = await textOf(path, required);
  if (text.includes("\0"))
    throw new EnvFileError(path, "it contains a NUL character, which is not allowed in a variable");
  return parse(text);
}

async function textOf(path: string, required: boolean): Promise<string> {
  let size: number;
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new EnvFileError(path, "it is not a file; expected lines of NAME=value");
    size = found.size;
    if (size <= MAX_ENV_FILE_BYTES) return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof EnvFileError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw new EnvFileError(path, `it cannot be read: ${message}`);
    if (required) throw new EnvFileError(path, "there is no such file; `env_file` of the worker's entry names it");
    return "";
  }
  throw new EnvFileError(path, `it has ${size} bytes; at most ${MAX_ENV_FILE_BYTES} are read`);
}
