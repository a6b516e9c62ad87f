import { afterAll, beforeAll, beforeEach } from "vitest";
import { type Console, type ConsoleOptions, startConsole } from "./console-process.ts";
import { keepDocuments } from "./pages.ts";
import { type RunningSystem, type SystemOptions, startSystem } from "./running-system.ts";
import { StandInEngine } from "./stand-in-engine.ts";

// Shared by the tests of a file: started in its first `beforeAll` and stopped after the last test. Tests do not stop
// them.

/** Starts a system for all tests of the file. */
export function systemOfFile(options: SystemOptions = {}): RunningSystem {
  let system: RunningSystem | undefined;
  let forgetDocuments: () => Promise<void> = async () => undefined;
  beforeAll(async () => {
    system = await startSystem(options);
    forgetDocuments = keepDocuments(system.console.url);
  });
  afterAll(async () => {
    await forgetDocuments();
    await system?.stop();
  });
  const started = (): RunningSystem => there(system, "the system");
  return {
    get folder() {
      return started().folder;
    },
    get ports() {
      return started().ports;
    },
    get console() {
      return started().console;
    },
    worker: (name) => started().worker(name),
    killEngine: () => started().killEngine(),
    startEngine: () => started().startEngine(),
    stop: () => started().stop(),
  };
}

/** Starts a stand-in before the system's engine; each test begins with a stand-in that only forwards. */
export function standInOfFile(system: RunningSystem): StandInEngine {
  const engine = new StandInEngine();
  beforeAll(() => engine.start(system.ports));
  beforeEach(() => engine.asIs());
  afterAll(() => engine.goAway());
  return engine;
}

/** Starts another console. */
export function consoleOfFile(options: () => ConsoleOptions): Console {
  let console: Console | undefined;
  let forgetDocuments: () => Promise<void> = async () => undefined;
  beforeAll(async () => {
    console = await startConsole(options());
    forgetDocuments = keepDocuments(console.url);
  });
  afterAll(async () => {
    await forgetDocuments();
    await console?.stop();
  });
  const started = (): Console => there(console, "the console");
  return {
    get url() {
      return started().url;
    },
    output: () => started().output(),
    stop: () => started().stop(),
  };
}

function there<Thing>(thing: Thing | undefined, name: string): Thing {
  if (thing === undefined) throw new Error(`${name} is there only once the tests of the file run`);
  return thing;
}
