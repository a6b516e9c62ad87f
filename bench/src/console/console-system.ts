import { loadavg } from "node:os";
import { chromiumPath, startBrowser } from "@svc-runtime/e2e/browser";
import { connect, createLogger, type Worker } from "@svc-runtime/sdk";
import type { Browser } from "playwright-core";
import type { ModuleEntry } from "../engine-process.ts";
import { idleProgram } from "../pinning.ts";
import { engineFor, type ScenarioContext } from "../scenarios/scenario.ts";
import { startConsole } from "./console-process.ts";

/** Concurrency of the calls that fill the engine. */
const LANES = 100;

export interface ConsoleSystem {
  readonly url: string;
  readonly browser: Browser;
  /** Fills the engine before anything is measured. */
  readonly worker: Worker;
  readonly enginePid: number;
  /** Address of the engine's streams. */
  readonly realtimePort: number;
}

interface SystemOptions {
  readonly name: string;
  readonly modules: readonly ModuleEntry[];
  /**
   * True if the browser gets only the processor time that no other process needs. For scenarios that measure the engine
   * and its callers, because in practice the browser runs on another machine.
   */
  readonly isBrowserIdle?: boolean;
}

/** Runs an engine, its console, a worker and a browser, and stops all of them afterwards. */
export async function withConsole<Result>(
  context: ScenarioContext,
  { name, modules, isBrowserIdle = false }: SystemOptions,
  use: (system: ConsoleSystem) => Promise<Result>,
): Promise<Result> {
  const undo: (() => Promise<unknown>)[] = [];
  try {
    const engine = await engineFor(context, name, modules);
    undo.push(() => engine.stop());
    const console = await startConsole(engine);
    undo.push(() => console.stop());
    const worker = connect(`ws://127.0.0.1:${engine.port}`, {
      name: "filler",
      // The logger writes nothing on this machine but sends the entries to the engine. A silent logger would not send
      // any.
      logger: createLogger({ write: () => {} }),
      handleSignals: false,
    });
    undo.push(() => worker.shutdown());
    await worker.connected();
    const browser = await startBrowser(isBrowserIdle ? idleProgram(chromiumPath(), context.folder) : undefined);
    undo.push(() => browser.close());
    return await use({ url: console.url, browser, worker, enginePid: engine.pid, realtimePort: engine.realtimePort });
  } finally {
    for (const each of undo.reverse()) await each();
  }
}

/** Calls `each` for 0 to `count` - 1, concurrently. */
export async function fill(count: number, each: (at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      while (next < count) await each(next++);
    }),
  );
}

/** Returns the load average of the machine in the last minute, which is shown with the results. */
export function loadNow(): number {
  return loadavg()[0] as number;
}
