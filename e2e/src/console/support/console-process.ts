import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Ports } from "../../support/cli.ts";
import { addEvidence } from "../../support/evidence.ts";

const consoleBin = fileURLToPath(new URL("../../../../packages/console/bin/svc-console.js", import.meta.url));

export interface ConsoleProcess {
  readonly child: ChildProcess;
  /** E.g. `http://localhost:15113`. */
  readonly url: string;
  /** Its output so far. */
  output(): string;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface ConsoleOptions {
  readonly engine: Ports;
  /** Default 0: a free one. */
  readonly port?: number;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `svc-console` and resolves when it prints its address. Works without an engine. */
export async function startConsole(options: ConsoleOptions): Promise<ConsoleProcess> {
  const { bridge, http, realtime } = options.engine;
  const flags = [
    "--engine-port",
    http,
    "--ws-port",
    realtime,
    "--bridge-port",
    bridge,
    "--port",
    options.port ?? 0,
  ].map(String);
  const child = spawn(process.execPath, [consoleBin, ...flags, ...(options.args ?? [])], {
    env: { ...process.env, ...options.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.once("close", addEvidence({ kind: "console", extension: "log", read: async () => output, outlivesEnd: true }));
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        const found = /(http:\/\/[\w.:[\]-]+?)\/workers/.exec(output)?.[1];
        if (found !== undefined) resolve(found);
      });
    }
    child.once("close", (code) =>
      reject(new Error(`the console ended (${code}) before it printed its address:\n${output}`)),
    );
  });
  return {
    child,
    url,
    output: () => output,
    async stop(signal = "SIGTERM") {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const closed = once(child, "close");
      child.kill(signal);
      await closed;
    },
  };
}
