import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "dotenv";
import { RESERVED_VARIABLES } from "./environment.ts";

/** Read from a worker's folder where its entry names no other. */
export const DEFAULT_ENV_FILE = ".env";
const MAX_ENV_FILE_BYTES = 256 * 1024;

/** A file of variables for a worker's processes. */
export interface EnvFile {
  /** Absolute. */
  readonly path: string;
  /** Somebody named it, so that it has to be there. */
  readonly required: boolean;
}

/** The one that is read unasked. */
export function defaultEnvFile(folder: string): EnvFile {
  return { path: join(folder, DEFAULT_ENV_FILE), required: false };
}

/** A file of variables cannot be used. The message names it, and never shows what it holds. */
export class EnvFileError extends Error {
  constructor(file: string, problem: string) {
    super(`${file}: ${problem}`);
    this.name = "EnvFileError";
  }
}

/** The variables of the files; of two with the same name the later counts. Those that the engine sets are left out. Throws EnvFileError. */
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
  if (text.includes("\0")) throw new EnvFileError(path, "it holds a NUL character, which no variable can");
  return parse(text);
}

async function textOf(path: string, required: boolean): Promise<string> {
  let size: number;
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new EnvFileError(path, "it is no file; expected lines of NAME=value");
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
