import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tokenSchema } from "./engine-options.ts";

/** Where the token of an engine without a configured one lies: `.svc/token` beside the config file. */
export function tokenFileOf(configFile: string): string {
  return join(dirname(configFile), ".svc", "token");
}

export function hasStoredToken(configFile: string): boolean {
  return existsSync(tokenFileOf(configFile));
}

/**
 * The token in the file; a new one of 256 random bits when there is no file yet. The file is for its owner alone: wider rights are taken
 * away. Throws an Error that names the file when it cannot be used.
 */
export function storedToken(file: string): string {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const made = makeToken(file);
    if (made !== undefined) return made;
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
    const token = readFileSync(file, "utf8").trim();
    if (tokenSchema.safeParse(token).success) return token;
  } catch (cause) {
    throw new Error(`the token file ${file} cannot be used: ${(cause as Error).message}; set engine.token or the variable SVC_TOKEN instead`, { cause });
  }
  throw new Error(`the token file ${file} holds no token; delete it, and the engine makes a new one`);
}

/** Undefined when there is a file already, be it another engine's that starts at the same moment. */
function makeToken(file: string): string | undefined {
  const token = randomBytes(32).toString("base64url");
  try {
    writeFileSync(file, `${token}\n`, { mode: 0o600, flag: "wx" });
    return token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw error;
  }
}
