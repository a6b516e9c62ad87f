import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandOf, eventually, processesIn } from "./processes.ts";

/** A project in its own folder with two small workers, `./workers/hello` and `./workers/there`. */
export interface WorkerProject {
  /** Absolute path. */
  readonly folder: string;
  /** Pids of running processes that were started for it, except the shell of a terminal. */
  processes(): readonly number[];
  /** Waits until none of these processes is running. */
  isQuiet(): Promise<void>;
  /** Call it when nothing of the project is running. */
  remove(): void;
}

export interface WorkerProjectOptions {
  /** Names of the workers in the config file. */
  readonly configured: readonly ("hello" | "there")[];
  /** Shell command that installs `hello`. */
  readonly installHello?: string;
}

const modules = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const INSTALL = "echo nothing to fetch";
const SOURCE = (name: string): string => `import { connect } from "@svc-runtime/sdk";

const worker = connect({ name: "${name}" });
console.log("${name} is awake");
console.error("${name} minds");
worker.registerFunction("${name}::greet", async ({ whom }) => {
  console.log(\`greeting \${whom}\`);
  return { greeting: \`Hello \${whom}\` };
});
`;

/** The workers use the packages of the repository, so nothing is downloaded. */
export function workerProject({ configured, installHello = INSTALL }: WorkerProjectOptions): WorkerProject {
  const folder = mkdtempSync(join(tmpdir(), "svc-terminal-project-"));
  symlinkSync(modules, join(folder, "node_modules"));
  for (const [name, install] of [
    ["hello", installHello],
    ["there", INSTALL],
  ] as const) {
    const worker = join(folder, "workers", name);
    mkdirSync(join(worker, "src"), { recursive: true });
    writeFileSync(join(worker, "src/worker.mjs"), SOURCE(name));
    writeFileSync(
      join(worker, "svc.worker.yaml"),
      `name: ${name}\nruntime: {kind: typescript, entry: src/worker.mjs}\nscripts: {install: ${install}, start: node src/worker.mjs}\n`,
    );
  }
  writeFileSync(
    join(folder, "config.yaml"),
    `workers: [${configured.map((name) => `{name: ${name}, path: ./workers/${name}}`).join(", ")}]\n`,
  );
  const processes = (): readonly number[] => processesIn(folder).filter((pid) => !/\bbash\b/.test(commandOf(pid)));
  return {
    folder,
    processes,
    isQuiet: () => eventually("the project's processes are gone", () => processes().length === 0),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
