import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { showProgress } from "../terminal/progress.ts";
import { awaitWorker, type EngineCalls, type WorkerReport, type WorkerState } from "./worker-functions.ts";

/** Maximum time for a worker to become ready after its install, in milliseconds. */
const READY_TIMEOUT_MS = 120_000;
/** Maximum time for an install, in milliseconds. */
const INSTALL_TIMEOUT_MS = 600_000;
/** Poll interval, in milliseconds. It is used to notice the end of an install. */
const POLL_INTERVAL_MS = 5_000;
/** States that end by themselves. */
const TRANSITIONAL_STATES: ReadonlySet<WorkerState> = new Set(["installing", "starting", "replacing", "stopping"]);

export interface AwaitedWorker {
  readonly name: string;
  /** Aborts when the user stops the wait. */
  readonly signal: AbortSignal;
  /** Advice for a user who stops the wait. */
  readonly adviceIfStopped: readonly string[];
}

/**
 * Waits until the worker is ready. Shows the first crash at once, with the worker's last output. Throws (exit 1) in
 * three cases: the worker cannot become ready; the wait times out; the user stops the wait.
 */
export async function waitForWorker(shell: Shell, engine: EngineCalls, awaited: AwaitedWorker): Promise<WorkerReport> {
  const { name, signal, adviceIfStopped: advice } = awaited;
  return await unlessStopped(
    watch(shell, engine, awaited),
    signal,
    () => new CommandFailure(`Stopped waiting; ${name} may not be ready.`, { advice }),
  );
}

/** Resolves with the step's result, or rejects as soon as the user stops the wait. */
export async function unlessStopped<Result>(
  step: Promise<Result>,
  signal: AbortSignal,
  stopped: () => CommandFailure,
): Promise<Result> {
  let undo = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(stopped());
    signal.addEventListener("abort", stop);
    undo = () => signal.removeEventListener("abort", stop);
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([step, aborted]);
  } finally {
    undo();
  }
}

async function watch(shell: Shell, engine: EngineCalls, awaited: AwaitedWorker): Promise<WorkerReport> {
  const { name, signal } = awaited;
  const { first, readyByMs } = await withProgress(shell, `Waiting until ${name} is ready`, () =>
    firstOutcome(engine, awaited),
  );
  if (first.state !== "backing_off") return requireReady(first, { showsOutput: true });
  shell.note(`${shell.paint.yellow(`Worker ${name} crashed:`)} ${first.reason ?? ""}\n${outputOf(first).join("\n")}\n`);
  const timeoutMs = Math.max(0, Math.round(readyByMs - performance.now()));
  const last = await withProgress(shell, `Waiting for ${name} to recover; press Ctrl-C to stop waiting`, () =>
    awaitWorker(engine, { name, until: "settled", timeoutMs, signal }),
  );
  return requireReady(last, { showsOutput: false });
}

/**
 * Waits until the worker is ready, has crashed or cannot become ready, or until the timeout. The time of an install is
 * not counted.
 */
async function firstOutcome(
  engine: EngineCalls,
  { name, signal }: AwaitedWorker,
): Promise<{ readonly first: WorkerReport; readonly readyByMs: number }> {
  const installedByMs = performance.now() + INSTALL_TIMEOUT_MS;
  let readyByMs = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const timeoutMs = Math.max(0, Math.min(POLL_INTERVAL_MS, Math.round(readyByMs - performance.now())));
    const first = await awaitWorker(engine, { name, until: "first crash", timeoutMs, signal });
    const nowMs = performance.now();
    // While the engine replaces processes one after another, each process has its own timeout.
    const isBounded = (first.state === "installing" && nowMs < installedByMs) || first.state === "replacing";
    if (isBounded) readyByMs = nowMs + READY_TIMEOUT_MS;
    else if (!TRANSITIONAL_STATES.has(first.state) || nowMs >= readyByMs) return { first, readyByMs };
  }
}

/** Runs the step and shows progress meanwhile. */
export async function withProgress<Result>(shell: Shell, title: string, step: () => Promise<Result>): Promise<Result> {
  const progress = showProgress(shell, title);
  try {
    return await step();
  } finally {
    progress.end();
  }
}

const TIMEOUT_REASONS: Readonly<Partial<Record<WorkerState, string>>> = {
  installing: `the install takes longer than ${INSTALL_TIMEOUT_MS / 1000} s`,
  starting: `it registered no function, trigger type or trigger within ${READY_TIMEOUT_MS / 1000} s`,
};

function requireReady(report: WorkerReport, { showsOutput }: { readonly showsOutput: boolean }): WorkerReport {
  const { name, state, reason, waits_for } = report;
  if (state === "ready") return report;
  const waits = waits_for.length === 0 ? undefined : `it waits for ${waits_for.join(", ")}, which it depends on`;
  const why = reason ?? waits ?? TIMEOUT_REASONS[state] ?? "";
  throw new CommandFailure(
    `Worker ${name} is not ready; it is ${state.replace("_", " ")}${why === "" ? "" : `: ${why}`}.`,
    {
      advice: [
        ...(showsOutput ? outputOf(report) : []),
        ...(report.log_file === null ? [] : [`Full output: ${report.log_file}`]),
        `It stays in the config file. It restarts when its files change, or with: svc worker restart ${name}`,
      ],
    },
  );
}

/**
 * Returns the output of the worker's latest run. Output of earlier runs is omitted, because it usually repeats itself.
 */
function outputOf({ tail }: WorkerReport): readonly string[] {
  const started = tail.findLastIndex((line) => /^process(?:#\d+)? started: /.test(line));
  const lines = tail.slice(started + 1).filter((line) => !/^process(?:#\d+)? it (?:ended|was ended) /.test(line));
  return lines.length === 0 ? [] : ["Its last output:", ...lines.map((line) => `  | ${line}`)];
}
