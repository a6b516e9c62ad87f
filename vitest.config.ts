import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Tests that start processes, use the disk, or wait for real time. */
const INTEGRATION = ["packages/*/src/**/*.integration.test.{ts,tsx}", "scripts/*.integration.test.mjs"];
/** Timeout of `expect.poll`: the machine may be busy with other work. */
const POLL = { timeout: 20_000 };
/** One more than there are cores, since tests also wait. With two for each core the same tests take a tenth more processor time. */
const WORKERS = availableParallelism() + 1;
/** Projects with long files first: short files at the end leave no core idle. */
const ORDER = ["e2e", "compat", "console", "integration", "unit"];

/** Starts long files first. The size of a file stands in for its duration, which a fresh clone does not know. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project }: TestSpecification): number => ORDER.indexOf(project.name);
    const size = ({ moduleId }: TestSpecification): number => statSync(moduleId).size;
    return files.sort((a, b) => rank(a) - rank(b) || size(b) - size(a));
  }
}

// Packages import each other's sources (export condition "@svc/source"), so a test never runs against a stale build.
// The one exception is the store thread: Node 20 cannot run TypeScript in a worker thread, so it needs a build first.

export default defineConfig({
  resolve: { conditions: ["@svc/source"] },
  ssr: { resolve: { conditions: ["@svc/source"] } },
  test: {
    globalSetup: "./scripts/temporary-folder.mjs",
    sequence: { sequencer: LongestFirst },
    maxWorkers: WORKERS,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["packages/*/src/**/*.test.{ts,tsx}", "bench/src/**/*.test.ts", "scripts/*.test.mjs"],
          exclude: INTEGRATION,
          environment: "node",
          // Threads start faster than processes; a test that needs a process of its own is an integration test.
          pool: "threads",
          // The machine may be busy with other work.
          testTimeout: 30_000,
          expect: { poll: POLL },
          // Loading the same modules again for each of hundreds of files takes longer than the tests. A test that changes shared state must undo it.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: "integration", include: INTEGRATION, environment: "node", testTimeout: 30_000, expect: { poll: POLL }, isolate: false },
      },
      {
        extends: true,
        test: {
          name: "compat",
          include: ["e2e/src/compat/**/*.test.ts"],
          setupFiles: "./e2e/src/support/keep-evidence.ts",
          environment: "node",
          testTimeout: 90_000,
          hookTimeout: 90_000,
          // Starting a process and loading the same modules for each file takes a second of processor time.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["e2e/src/**/*.test.ts"],
          exclude: ["e2e/src/compat/**", "e2e/src/faults/**", "e2e/src/console/**"],
          setupFiles: "./e2e/src/support/keep-evidence.ts",
          environment: "node",
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: POLL },
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "console",
          include: ["e2e/src/console/**/*.test.ts"],
          setupFiles: "./e2e/src/support/keep-evidence.ts",
          environment: "node",
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: POLL },
          // Files that run in one process share its browser: `e2e/src/console/support/pages.ts`.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "faults",
          include: ["e2e/src/faults/**/*.test.ts"],
          environment: "node",
          testTimeout: 2 * 60 * 60_000,
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
