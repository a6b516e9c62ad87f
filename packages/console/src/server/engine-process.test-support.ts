import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningEngine, startEngine } from "@svc-runtime/engine";
import { freePorts } from "@svc-runtime/protocol/testing";
import type { EngineUrls } from "./running-console.test-support.ts";

/** An engine that can be stopped and restarted on its ports. */
export interface RestartableEngine extends EngineUrls {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

/** Returns an engine that is not started yet. */
export async function restartableEngine(): Promise<RestartableEngine> {
  const folder = mkdtempSync(join(tmpdir(), "svc-console-engine-"));
  const configFile = join(folder, "config.yaml");
  writeFileSync(configFile, "workers:\n  - name: svc-stream\n    config:\n      adapter: { name: in_memory }\n");
  const { bridge, http, realtime } = await freePorts();
  let running: RunningEngine | undefined;
  const stop = async (): Promise<void> => {
    await running?.stop({ graceMs: 0 });
    running = undefined;
  };
  return {
    url: `ws://127.0.0.1:${bridge}`,
    httpUrl: `http://127.0.0.1:${http}`,
    streamsUrl: `ws://127.0.0.1:${realtime}`,
    async start() {
      running = await startEngine({
        configFile,
        env: {},
        overrides: { bridgePort: bridge, httpPort: http, realtimePort: realtime },
      });
    },
    stop,
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
