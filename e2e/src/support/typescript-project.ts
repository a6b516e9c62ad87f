import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { svc } from "./cli.ts";
import { commandOf, eventually, processesIn } from "./processes.ts";

/** A quickstart project in a folder of its own, with two small workers in TypeScript. */
export interface TypeScriptProject {
  /** Absolute path. */
  readonly folder: string;
  /** Ids of running processes that were started for it, a terminal's shell aside. */
  processes(): readonly number[];
  /** Waits until none is left. */
  isQuiet(): Promise<void>;
  /** To be called when nothing of it runs any more. */
  remove(): void;
}

const SOURCE = (name: string): string => `import { connect } from "@svc/sdk";

const worker = connect({ name: "${name}" });
console.log("${name} is awake");
console.error("${name} minds");
worker.registerFunction("${name}::greet", async ({ whom }: { whom: string }) => {
  console.log(\`greeting \${whom}\`);
  return { greeting: \`Hello \${whom}\` };
});
`;

/** Its workers are `./workers/hello`, which npm installs, and `./workers/there`, which has no install. Its config file lists none. */
export async function typeScriptProject(): Promise<TypeScriptProject> {
  const parent = mkdtempSync(join(tmpdir(), "svc-terminal-project-"));
  const folder = join(parent, "quickstart");
  const created = await svc(["create", "--template", "quickstart", "--directory", folder], { cwd: parent });
  if (created.code !== 0) throw new Error(`svc create ended with ${created.code}:\n${created.stderr}`);
  const manifest = readFileSync(join(folder, "workers/caller-worker/svc.worker.yaml"), "utf8");
  for (const name of ["hello", "there"]) {
    const worker = join(folder, "workers", name);
    cpSync(join(folder, "workers/caller-worker"), worker, { recursive: true });
    writeFileSync(join(worker, "src/worker.ts"), SOURCE(name));
    writeFileSync(join(worker, "svc.worker.yaml"), manifest.replaceAll("caller-worker", name));
  }
  symlinkSync("../hello/node_modules", join(folder, "workers/there/node_modules"));
  const there = join(folder, "workers/there/svc.worker.yaml");
  writeFileSync(there, readFileSync(there, "utf8").replace(/install: .*/, "install: echo nothing to fetch"));
  const processes = (): readonly number[] => processesIn(folder).filter((pid) => !/\bbash\b/.test(commandOf(pid)));
  return {
    folder,
    processes,
    isQuiet: () => eventually("the project's processes are gone", () => processes().length === 0),
    remove: () => rmSync(parent, { recursive: true, force: true }),
  };
}
