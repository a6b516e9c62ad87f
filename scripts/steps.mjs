// The step runner of the scripts: numbered progress on standard error, commands whose output is shown after a failure,
// and an end that leaves no process running. Plain Node without dependencies: it runs before `npm install`.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

/** Folder of the repository. */
export const root = fileURLToPath(new URL("..", import.meta.url));

const KEPT_LINES = 40;
const KEPT_LINE_LENGTH = 2000;
/** Time between SIGTERM and SIGKILL, in milliseconds. */
const STOP_GRACE_MS = 15_000;
/** npm passes the terminal's Ctrl-C on a second time: two signals within this time are one key press. */
const SAME_PRESS_MS = 1000;
const DRAW_MS = 500;

/** Thrown when a step fails. `output` is the last output of the failed command, `fix` says how to fix it. */
export class StepFailure extends Error {
  constructor(message, { output = [], fix, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StepFailure";
    this.output = output;
    this.fix = fix;
  }
}

/** Thrown on Ctrl-C or a signal that ends the process. */
export class Interrupted extends Error {
  constructor(signal) {
    super(`stopped by ${signal}`);
    this.name = "Interrupted";
    /** 128 + the signal's number, as in shells. */
    this.exitCode = 128 + constants.signals[signal];
  }
}

/** Process groups of running commands. An early end kills them. */
const running = new Set();

/**
 * Returns a signal that aborts with `Interrupted` at the first Ctrl-C, SIGTERM or SIGHUP. A second one kills the
 * running commands and ends the process.
 */
export function interruptSignal() {
  const controller = new AbortController();
  let firstMs;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(name, () => {
      const nowMs = performance.now();
      if (firstMs === undefined) {
        firstMs = nowMs;
        controller.abort(new Interrupted(name));
      } else if (nowMs - firstMs > SAME_PRESS_MS) {
        for (const child of running) killGroup(child, "SIGKILL");
        process.exit(128 + constants.signals[name]);
      }
    });
  }
  return controller.signal;
}

/**
 * Numbers steps and prints each with its duration: `[3/7] Building … 12.3 s`.
 *
 * @param {{ total: number, signal: AbortSignal, stream?: NodeJS.WriteStream }} options
 */
export function stepRunner({ total, signal, stream = process.stderr }) {
  let number = 0;
  /**
   * Runs one step and resolves with the result of `action`. `action` receives `{ signal, note, outcome }`: `note`
   * prints a line while it runs, `outcome` sets a short result, e.g. "up to date". `fix` is added to failures that have
   * none.
   */
  async function step(title, action, { fix } = {}) {
    signal.throwIfAborted();
    number += 1;
    const head = `[${number}/${total}] ${title} …`;
    const startedMs = performance.now();
    const elapsed = () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
    let lineOpen = true;
    let outcomeText = "";
    const outcome = (text) => {
      outcomeText = ` (${text})`;
    };
    stream.write(head);
    const timer = stream.isTTY
      ? setInterval(() => lineOpen && stream.write(`\r${head} ${elapsed()}`), DRAW_MS)
      : undefined;
    /** Prints a line below the step's line. The end of the step then gets its own line, too. */
    const note = (line) => {
      stream.write(`${lineOpen ? "\n" : ""}      ${line}\n`);
      lineOpen = false;
    };
    const close = (text) => {
      clearInterval(timer);
      const end = lineOpen && !stream.isTTY ? ` ${text}\n` : lineOpen ? `\r${head} ${text}\n` : `${head} ${text}\n`;
      stream.write(end);
    };
    try {
      const result = await action({ signal, note, outcome });
      signal.throwIfAborted();
      close(`${elapsed()}${outcomeText}`);
      return result;
    } catch (error) {
      close(signal.aborted ? "stopped" : "failed");
      if (signal.aborted) throw signal.reason;
      throw named(error, `Step ${number} of ${total} (${title}) failed`, fix);
    }
  }
  return { step };
}

/**
 * Starts the actions of later steps in the background, one after another. Returns for each action the function that its
 * step runs: it prints the notes so far, and waits for the action. `end` is for a run that stops earlier: it starts no
 * further action and waits for the running one, since an incomplete installation may be worse than none. Ctrl-C stops
 * that, too.
 *
 * @param {readonly ((context: object) => Promise<unknown>)[]} actions
 * @param {{ signal: AbortSignal }} options
 */
export function startInBackground(actions, { signal }) {
  let hasEnded = false;
  let last = Promise.resolve();
  const awaited = actions.map((action) => {
    const messages = [];
    let report = (what, text) => void messages.push([what, text]);
    const context = { signal, note: (line) => report("note", line), outcome: (text) => report("outcome", text) };
    const ended = last.then(() => {
      if (hasEnded) throw new StepFailure("another step failed before it");
      return action(context);
    });
    // Prevents an unhandled rejection if no step waits for it.
    ended.catch(() => undefined);
    last = ended;
    return (step) => {
      report = (what, text) => step[what](text);
      for (const [what, text] of messages) report(what, text);
      return ended;
    };
  });
  const end = async () => {
    hasEnded = true;
    await last.catch(() => undefined);
  };
  return { awaited, end };
}

function named(error, title, fix) {
  if (!(error instanceof StepFailure))
    return new StepFailure(`${title}: ${error.stack ?? error}`, { fix, cause: error });
  return new StepFailure(`${title}: ${error.message}`, { output: error.output, fix: error.fix ?? fix, cause: error });
}

/** Prints the error, the last output and how to fix it. Returns the exit status. */
export function reportFailure(error, stream = process.stderr) {
  if (error instanceof Interrupted) return error.exitCode;
  if (!(error instanceof StepFailure)) {
    stream.write(`\n${error.stack ?? error}\n`);
    return 1;
  }
  stream.write(`\n${error.message}\n`);
  if (error.output.length > 0) stream.write(`\nLast output:\n${error.output.map((line) => `  | ${line}\n`).join("")}`);
  if (error.fix !== undefined) stream.write(`\nHow to fix it: ${error.fix}\n`);
  return 1;
}

/**
 * Runs a command in its own process group and waits for its end. Resolves with its standard output and the last lines
 * of both outputs. Rejects with StepFailure if it fails, cannot be started or exceeds `timeoutMs`, and with the
 * signal's reason on abort.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ signal: AbortSignal, cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number, fix?: string, onLine?:
 *   (line: string) => void }} options
 */
export async function runCommand(command, args, { signal, cwd, env, timeoutMs = 600_000, fix, onLine }) {
  const shown = [command.split("/").at(-1), ...args].join(" ");
  const child = startCommand(command, args, { cwd, env, onLine });
  let stdout = "";
  child.process.stdout.on("data", (text) => {
    stdout += text;
  });
  // Not AbortSignal.any: in Node 20 the garbage collector removes a time limit that only the combined signal refers to.
  const deadline = AbortSignal.timeout(timeoutMs);
  const stop = () => void child.stop();
  for (const limit of [signal, deadline]) limit.addEventListener("abort", stop);
  if (signal.aborted) stop();
  const { code, error } = await child.ended;
  for (const limit of [signal, deadline]) limit.removeEventListener("abort", stop);
  signal.throwIfAborted();
  const output = child.lastLines();
  if (deadline.aborted) throw new StepFailure(`\`${shown}\` timed out after ${timeoutMs / 1000} s`, { output, fix });
  if (error !== undefined)
    throw new StepFailure(`\`${shown}\` could not be started: ${error.message}`, { output, fix, cause: error });
  if (code !== 0) throw new StepFailure(`\`${shown}\` ended with status ${code}`, { output, fix });
  return { stdout, output };
}

/**
 * Starts a command in its own process group, so that Ctrl-C reaches it only through this process. Keeps its last lines.
 * `stop()` sends SIGTERM to the group, then SIGKILL if needed, and resolves when it has ended.
 */
export function startCommand(command, args, { cwd, env, onLine, stdin = "ignore" } = {}) {
  const child = spawn(command, args, {
    cwd,
    env: env ?? process.env,
    detached: process.platform !== "win32",
    stdio: [stdin, "pipe", "pipe"],
  });
  running.add(child);
  const lines = [];
  const keep = (line) => {
    lines.push(line.slice(0, KEPT_LINE_LENGTH));
    if (lines.length > KEPT_LINES) lines.shift();
    onLine?.(line);
  };
  for (const stream of [child.stdout, child.stderr]) splitLines(stream.setEncoding("utf8"), keep);
  const ended = new Promise((settle) => {
    child.once("error", (error) => settle({ code: undefined, error }));
    child.once("close", (code, signalName) => settle({ code: code ?? signalName, error: undefined }));
  });
  void ended.then(() => running.delete(child));
  let stopping;
  const stop = () => {
    stopping ??= endGroup(child, ended);
    return stopping;
  };
  return { process: child, ended, stop, lastLines: () => [...lines] };
}

async function endGroup(child, ended) {
  killGroup(child, "SIGTERM");
  const timer = setTimeout(() => killGroup(child, "SIGKILL"), STOP_GRACE_MS);
  await ended;
  clearTimeout(timer);
  // The leader has ended. Kills the rest of its group.
  killGroup(child, "SIGKILL");
}

function killGroup(child, signal) {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

function splitLines(stream, onLine) {
  let rest = "";
  const give = (line) => {
    if (line.trim() !== "") onLine(line);
  };
  stream.on("data", (text) => {
    const parts = (rest + text).split(/\r?\n/);
    rest = parts.pop() ?? "";
    if (rest.length > KEPT_LINE_LENGTH) {
      parts.push(rest);
      rest = "";
    }
    for (const part of parts) give(part);
  });
  stream.on("end", () => give(rest));
}

/** Runs npm and waits for its end: the npm that runs this script, else the one on the PATH. */
export function npm(args, options) {
  const path = process.env.npm_execpath;
  return path?.endsWith("npm-cli.js")
    ? runCommand(process.execPath, [path, ...args], options)
    : runCommand("npm", args, options);
}
