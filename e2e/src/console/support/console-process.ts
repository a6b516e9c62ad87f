import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Ports } from "../../support/cli.ts";
import { addEvidence } from "../../support/evidence.ts";

const consolePackage = new URL("../../../../packages/console/", import.meta.url);
const bin = fileURLToPath(new URL("bin/svc-console.js", consolePackage));
const program = new URL("dist/server/main.js", consolePackage).href;

export interface Console {
  /** E.g. `http://localhost:15113`. */
  readonly url: string;
  /** Its output so far. */
  output(): string;
  stop(): Promise<void>;
}

export interface ConsoleProcess extends Console {
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface ConsoleOptions {
  readonly engine: Ports;
  /** Default 0: a free one. */
  readonly port?: number;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs `svc-console` in this process and resolves when it prints its address. Works without an engine. Takes 15 ms of processor time, where a process of its
 * own takes 450 ms to start.
 */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const { main } = (await import(program)) as {
    readonly main: (args: readonly string[], process: unknown) => Promise<number>;
  };
  const output = new ConsoleOutput();
  const writable = { write: (text: string) => output.add(text) };
  const process = Object.assign(new EventEmitter(), { env: envOf(options), stdout: writable, stderr: writable });
  const exited = main(argsOf(options), process).finally(output.end);
  return {
    url: await output.url(exited),
    output: () => output.text,
    async stop() {
      process.emit("SIGTERM");
      await exited;
    },
  };
}

/** Starts `svc-console` as a process, for tests that kill it. Else like `startConsole`. */
export async function spawnConsole(options: ConsoleOptions): Promise<ConsoleProcess> {
  const child: ChildProcess = spawn(process.execPath, [bin, ...argsOf(options)], {
    env: envOf(options),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = new ConsoleOutput();
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => output.add(chunk.toString()));
  const exited = once(child, "close").then(([code]) => code as number | null);
  void exited.then(output.end);
  return {
    url: await output.url(exited),
    output: () => output.text,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await exited;
    },
  };
}

/** Output of a console, which is kept if a test fails. */
class ConsoleOutput {
  text = "";
  readonly end = addEvidence({ kind: "console", extension: "log", read: async () => this.text, outlivesEnd: true });
  #found: (url: string) => void = () => undefined;
  readonly #url = new Promise<string>((resolve) => {
    this.#found = resolve;
  });

  add(text: string): void {
    this.text += text;
    const url = /(http:\/\/[\w.:[\]-]+?)\/workers/.exec(this.text)?.[1];
    if (url !== undefined) this.#found(url);
  }

  /** Resolves to the printed address. Rejects if the console ends first. */
  async url(exited: Promise<number | null>): Promise<string> {
    const code = await Promise.race([this.#url, exited]);
    if (typeof code === "string") return code;
    throw new Error(`the console ended (${code}) before it printed its address:\n${this.text}`);
  }
}

function argsOf({ engine, port = 0, args = [] }: ConsoleOptions): readonly string[] {
  const ports = ["--engine-port", engine.http, "--ws-port", engine.realtime, "--bridge-port", engine.bridge];
  return [...ports, "--port", port, ...args].map(String);
}

function envOf({ env }: ConsoleOptions): NodeJS.ProcessEnv {
  return { ...process.env, ...env, NO_COLOR: "1" };
}
