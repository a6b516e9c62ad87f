import { defineConfig } from "vitest/config";

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
        test: { name: "unit", include: ["packages/*/src/**/*.test.{ts,tsx}", "bench/src/**/*.test.ts"], environment: "node", testTimeout: 10_000 },
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
          exclude: ["e2e/src/compat/**", "e2e/src/faults/**", "e2e/src/console/**"],
          environment: "node",
          testTimeout: 240_000,
          hookTimeout: 240_000,
          // Whole processes and a browser: on a busy machine the second that is the default is nothing.
          expect: { poll: { timeout: 20_000 } },
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
          expect: { poll: { timeout: 20_000 } },
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
