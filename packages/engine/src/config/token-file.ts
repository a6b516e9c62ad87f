import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tokenSchema } from "./engine-options.ts";

/**
 * Returns the path of the file with the generated token: `.svc/token` in the folder of the config file. The engine uses
 * that token if no token is configured.
 */
export function tokenFileOf(configFile: string): string {
  return join(dirname(configFile), ".svc", "token");
}

export function hasStoredToken(configFile: string): boolean {
  return existsSync(tokenFileOf(configFile));
}

/**
 * Returns the token in the file. Creates the file with a new token of 256 random bits if it is missing. Removes access
 * rights of other users. Throws an Error that names the file if it cannot be used.
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
    throw new Error(
      `the token file ${file} cannot be used: ${(cause as Error).message}; set engine.token or the variable SVC_TOKEN instead`,
      { cause },
    );
  }
  throw new Error(`the token file ${file} contains no valid token; delete it, and the engine creates a new one`);
}

/** Creates the token file. Returns undefined if it exists: another engine may have created it at the same moment. */
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
