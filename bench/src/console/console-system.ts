import { loadavg } from "node:os";
import { startBrowser } from "@svc-runtime/e2e/browser";
import { connect, createLogger, type Worker } from "@svc-runtime/sdk";
import type { Browser } from "playwright-core";
import type { ModuleEntry } from "../engine-process.ts";
import { engineFor, type ScenarioContext } from "../scenarios/scenario.ts";
import { startConsole } from "./console-process.ts";

/** Concurrency of the calls that fill the engine. */
const LANES = 100;

export interface SystemWithoutBrowser {
  readonly url: string;
  /** Fills the engine before anything is measured. */
  readonly worker: Worker;
  readonly enginePid: number;
  /** Address of the engine's streams. */
  readonly realtimePort: number;
}

export interface ConsoleSystem extends SystemWithoutBrowser {
  readonly browser: Browser;
}

interface SystemOptions {
  readonly name: string;
  readonly modules: readonly ModuleEntry[];
}

/** Runs an engine, its console, a worker and a browser, and stops all of them afterwards. */
export async function withConsole<Result>(
  context: ScenarioContext,
  options: SystemOptions,
  use: (system: ConsoleSystem) => Promise<Result>,
): Promise<Result> {
  return withConsoleOnly(context, options, async (system) => {
    const browser = await startBrowser();
    try {
      return await use({ ...system, browser });
    } finally {
      await browser.close();
    }
  });
}

/** Runs an engine, its console and a worker, and stops all of them afterwards. */
export async function withConsoleOnly<Result>(
  context: ScenarioContext,
  { name, modules }: SystemOptions,
  use: (system: SystemWithoutBrowser) => Promise<Result>,
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
    return await use({ url: console.url, worker, enginePid: engine.pid, realtimePort: engine.realtimePort });
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
