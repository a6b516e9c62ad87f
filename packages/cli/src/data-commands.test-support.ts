import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import type { ExitCode } from "./exit-codes.ts";
import { run } from "./main.ts";
import { startTestEngine, type TestEngine, type TestProject, testProject } from "./running-engine.test-support.ts";
import { type RecordedShell, type RecordedShellOptions, recordedShell } from "./shell.test-support.ts";

/** An engine with a worker, and commands that use it. */
export interface TestSystem {
  readonly engine: TestEngine;
  readonly worker: Worker;
  readonly project: TestProject;
  /** Runs `svc …` on the engine. */
  svc(args: readonly string[], options?: RecordedShellOptions): Promise<Ended>;
  /** Starts `svc …` and returns its shell while it runs. */
  started(
    args: readonly string[],
    options?: RecordedShellOptions,
  ): { readonly shell: RecordedShell; readonly ended: Promise<ExitCode> };
  stop(): Promise<void>;
}

export interface Ended {
  readonly status: ExitCode;
  readonly out: string;
  readonly notes: string;
}

/** `prepare` writes to the project's folder before the engine starts. */
export async function testSystem(
  configText?: string,
  prepare?: (project: TestProject) => Promise<void>,
): Promise<TestSystem> {
  const project = testProject(configText);
  await prepare?.(project);
  const engine = await startTestEngine(project);
  const worker = connect(engine.url, { name: "math-worker", logger: silentLogger, handleSignals: false });
  await worker.connected();
  const started: TestSystem["started"] = (args, options) => {
    const shell = recordedShell({ cwd: project.dir, ...options });
    return { shell, ended: run([...args, "--url", engine.url], shell) };
  };
  return {
    engine,
    worker,
    project,
    started,
    async svc(args, options) {
      const { shell, ended } = started(args, options);
      return { status: await ended, ...shell.written };
    },
    async stop() {
      await worker.shutdown();
      await engine.stop();
      project.remove();
    },
  };
}
