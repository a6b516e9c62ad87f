import { CommandFailure } from "./exit-codes.ts";
import { showProgress } from "./progress.ts";
import type { Shell } from "./shell.ts";
import { awaitWorker, type EngineCalls, type WorkerReport, type WorkerState } from "./worker-functions.ts";

/** How long the engine gives a worker to become ready (decision 29), from the end of its install on. */
const READY_TIMEOUT_MS = 120_000;
/** How long it gives an install. */
const INSTALL_TIMEOUT_MS = 600_000;
/** An install that has ended is noticed by the next look. */
const LOOK_EVERY_MS = 5_000;
/** Not yet what it will come to. */
const PASSING_STATES: ReadonlySet<WorkerState> = new Set(["installing", "starting", "replacing", "stopping"]);

export interface AwaitedWorker {
  readonly name: string;
  /** Aborts when the user wants an end. */
  readonly signal: AbortSignal;
  /** What somebody who stops the wait should know. */
  readonly adviceIfStopped: readonly string[];
}

/**
 * Waits until the worker is ready. A first crash is shown at once, with the worker's last output. Exit 1 when it cannot become ready, or
 * not in time, or when the user stops the wait.
 */
export async function waitForWorker(shell: Shell, engine: EngineCalls, awaited: AwaitedWorker): Promise<WorkerReport> {
  const { name, signal, adviceIfStopped: advice } = awaited;
  return await unlessStopped(watch(shell, engine, awaited), signal, () => new CommandFailure(`Stopped waiting; ${name} is not known to be ready.`, { advice }));
}

/** What the step comes to, or a failure as soon as the user wants an end. */
export async function unlessStopped<Result>(step: Promise<Result>, signal: AbortSignal, stopped: () => CommandFailure): Promise<Result> {
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
  const { first, readyByMs } = await shown(shell, `Waiting until ${name} is ready`, () => firstOutcome(engine, awaited));
  if (first.state !== "backing_off") return requireReady(first, { showsOutput: true });
  shell.note(`${shell.paint.yellow(`Worker ${name} crashed:`)} ${first.reason ?? ""}\n${outputOf(first).join("\n")}\n`);
  const timeoutMs = Math.max(0, Math.round(readyByMs - performance.now()));
  const last = await shown(shell, `Waiting whether ${name} recovers; Ctrl-C ends the wait`, () =>
    awaitWorker(engine, { name, until: "settled", timeoutMs, signal }),
  );
  return requireReady(last, { showsOutput: false });
}

/** How it is when it is ready, has crashed or cannot become ready, or when its time is up; that of an install comes on top. */
async function firstOutcome(engine: EngineCalls, { name, signal }: AwaitedWorker): Promise<{ readonly first: WorkerReport; readonly readyByMs: number }> {
  const installedByMs = performance.now() + INSTALL_TIMEOUT_MS;
  let readyByMs = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const timeoutMs = Math.max(0, Math.min(LOOK_EVERY_MS, Math.round(readyByMs - performance.now())));
    const first = await awaitWorker(engine, { name, until: "first crash", timeoutMs, signal });
    const nowMs = performance.now();
    // The engine gives each process its own time, and replaces one after another.
    const isBounded = (first.state === "installing" && nowMs < installedByMs) || first.state === "replacing";
    if (isBounded) readyByMs = nowMs + READY_TIMEOUT_MS;
    else if (!PASSING_STATES.has(first.state) || nowMs >= readyByMs) return { first, readyByMs };
  }
}

/** Runs the step below a line that says that it runs. */
export async function shown<Result>(shell: Shell, title: string, step: () => Promise<Result>): Promise<Result> {
  const progress = showProgress(shell, title);
  try {
    return await step();
  } finally {
    progress.end();
  }
}

const TAKES_TOO_LONG: Readonly<Partial<Record<WorkerState, string>>> = {
  installing: `that takes longer than ${INSTALL_TIMEOUT_MS / 1000} s`,
  starting: `it registered no function, trigger type or trigger within ${READY_TIMEOUT_MS / 1000} s`,
};

function requireReady(report: WorkerReport, { showsOutput }: { readonly showsOutput: boolean }): WorkerReport {
  const { name, state, reason, waits_for } = report;
  if (state === "ready") return report;
  const waits = waits_for.length === 0 ? undefined : `it waits for ${waits_for.join(", ")}, which it depends on`;
  const why = reason ?? waits ?? TAKES_TOO_LONG[state] ?? "";
  throw new CommandFailure(`Worker ${name} is not ready; it is ${state.replace("_", " ")}${why === "" ? "" : `: ${why}`}.`, {
    advice: [
      ...(showsOutput ? outputOf(report) : []),
      ...(report.log_file === null ? [] : [`All of its output: ${report.log_file}`]),
      `It stays in the config file. It is started again when its files change, or with: svc worker restart ${name}`,
    ],
  });
}

/** The output of its latest run: of the runs before it says the same again. */
function outputOf({ tail }: WorkerReport): readonly string[] {
  const started = tail.findLastIndex((line) => /^process(?:#\d+)? started: /.test(line));
  const lines = tail.slice(started + 1).filter((line) => !/^process(?:#\d+)? it (?:ended|was ended) /.test(line));
  return lines.length === 0 ? [] : ["Its last output:", ...lines.map((line) => `  | ${line}`)];
}
