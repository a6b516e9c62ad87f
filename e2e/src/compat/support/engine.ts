import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { type EngineProcess, type Ports, startEngine } from "../../support/cli.ts";

const CONFIG = "workers:\n  - name: svc-http\n";

/** The svc engine as a process, with its own ports, which it keeps over restarts. */
export interface TestEngine {
  /** Address for workers. */
  readonly address: string;
  /** Address of the routes. */
  readonly http: string;
  /** Address of the streams. */
  readonly streams: string;
  /** Its log since the last start, as JSON lines. */
  output(): string;
  /** Log records of this level, without those about a busy machine. */
  logged(level: string): Readonly<Record<string, unknown>>[];
  /** Names of the connected workers. */
  workers(): Promise<string[]>;
  kill(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function startTestEngine(config = CONFIG): Promise<TestEngine> {
  const cwd = mkdtempSync(join(tmpdir(), "svc-compat-"));
  writeFileSync(join(cwd, "config.yaml"), config);
  const ports: Ports = await freePorts();
  let running: EngineProcess | undefined = await startEngine({ cwd, ports });
  let last = running;
  const kill = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    const ending = running;
    running = undefined;
    if (ending === undefined) return;
    ending.child.kill(signal);
    await ending.exited;
  };
  return {
    address: `ws://127.0.0.1:${ports.bridge}`,
    http: `http://127.0.0.1:${ports.http}`,
    streams: `ws://127.0.0.1:${ports.realtime}`,
    output: () => last.output(),
    logged: (level) =>
      last
        .output()
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter((record) => record.level === level && record.component !== "event_loop"),
    async workers() {
      const response = await fetch(`http://127.0.0.1:${ports.http}/_console/invoke`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ function_id: "engine::workers::list", payload: {} }),
      });
      const { workers } = (await response.json()) as { readonly workers: readonly { readonly name: string }[] };
      return workers.map(({ name }) => name);
    },
    kill,
    async start() {
      running = await startEngine({ cwd, ports });
      last = running;
    },
    async stop() {
      await kill("SIGTERM");
      rmSync(cwd, { recursive: true, force: true });
    },
  };
}
