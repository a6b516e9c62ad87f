import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Files whose tests hold the engine to a time or to a size of its memory, and so run alone. */
const ALONE = ["e2e/src/supervision.test.ts", "e2e/src/http-streams.test.ts", "e2e/src/channels.test.ts"];
/** Of whole processes and a browser: on a busy machine the second that is the default is nothing. */
const POLL = { timeout: 20_000 };

// Sources are used directly across packages (export condition "@svc/source"), so a test never runs against a stale build.
// The one exception is the store thread: Node 20 cannot run TypeScript in a worker thread, so it needs `tsc -b` first.

export default defineConfig({
  resolve: { conditions: ["@svc/source"] },
  ssr: { resolve: { conditions: ["@svc/source"] } },
  test: {
    globalSetup: "./scripts/temporary-folder.mjs",
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["packages/*/src/**/*.test.{ts,tsx}", "bench/src/**/*.test.ts", "scripts/*.test.mjs"],
          environment: "node",
          // Of a machine on which much else runs.
          testTimeout: 30_000,
          // To load the same modules again for each of hundreds of files took longer than the tests: a test that changes what all share has to undo it.
          isolate: false,
          // By itself the test runner leaves one core idle, which is half of two.
          maxWorkers: availableParallelism(),
        },
      },
      {
        extends: true,
        test: { name: "compat", include: ["e2e/src/compat/**/*.test.ts"], environment: "node", testTimeout: 90_000, hookTimeout: 90_000, maxWorkers: 3 },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["e2e/src/**/*.test.ts"],
          exclude: ["e2e/src/compat/**", "e2e/src/faults/**", "e2e/src/console/**", ...ALONE],
          environment: "node",
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: POLL },
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: ALONE,
          environment: "node",
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: POLL },
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: "console",
          include: ["e2e/src/console/**/*.test.ts"],
          environment: "node",
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: POLL },
          // A browser waits more than it works.
          maxWorkers: 2,
          // The files that a process runs share its browser: `e2e/src/console/support/pages.ts`.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: "faults", include: ["e2e/src/faults/**/*.test.ts"], environment: "node", testTimeout: 300_000, fileParallelism: false },
      },
    ],
  },
});
