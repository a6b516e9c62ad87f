import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { EngineProcess } from "../engine-process.ts";
import { adopt, pidOf, stopProcess, within } from "../processes.ts";

const CONSOLE = fileURLToPath(new URL("../../../packages/console/bin/svc-console.js", import.meta.url));
const PAGE = fileURLToPath(new URL("../../../packages/console/dist/web/index.html", import.meta.url));
const START_TIMEOUT_MS = 20_000;

/** A name of this machine under which the console is also served through a proxy. */
export const PROXY_HOST = "page.localhost";

export interface ConsoleProcess {
  readonly pid: number;
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the console as a user does, with the released page, and waits until it listens. */
export async function startConsole(engine: EngineProcess): Promise<ConsoleProcess> {
  if (!existsSync(PAGE)) throw new Error(`${PAGE} is missing; run the bench with npm run bench, which builds it first`);
  const args = [
    // A proxy with another port serves the console under this name.
    "--allowed-host",
    PROXY_HOST,
    "--port",
    0,
    "--engine-port",
    engine.httpPort,
    "--ws-port",
    engine.realtimePort,
    "--bridge-port",
    engine.port,
  ].map(String);
  const child = spawn(process.execPath, [CONSOLE, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  adopt(child);
  let output = "";
  const listening = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        const url = /(http:\/\/[\w.:[\]-]+?)\/workers/.exec(output)?.[1];
        if (url !== undefined) resolve(url);
      });
    }
    child.once("exit", () => reject(new Error(`the console ended before it listened:\n${output}`)));
  });
  return {
    pid: pidOf(child),
    url: await within(START_TIMEOUT_MS, "the console did not listen", listening),
    stop: () => stopProcess(child),
  };
}
