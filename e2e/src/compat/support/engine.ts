import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc/protocol/testing";
import { type EngineProcess, type Ports, startEngine } from "../../support/cli.ts";

const CONFIG = "workers:\n  - name: svc-http\n";

/** Our engine as a process, with ports of its own that it keeps when it is started again. */
export interface TestEngine {
  /** Where workers connect. */
  readonly address: string;
  /** Where routes are served. */
  readonly http: string;
  /** Where streams are joined. */
  readonly streams: string;
  /** Everything that it logged since its last start, JSON lines. */
  output(): string;
  /** Log records at this level, without those that say how busy the machine is. */
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
