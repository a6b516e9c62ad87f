// The step runner that the scripts share: numbered progress on standard error, commands whose output is kept for the case of a failure,
// and an end that leaves no process behind. Plain Node without dependencies: it runs before `npm install`.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

/** The repository. */
export const root = fileURLToPath(new URL("..", import.meta.url));

const KEPT_LINES = 40;
const KEPT_LINE_LENGTH = 2000;
/** What a command gets between SIGTERM and SIGKILL. */
const STOP_GRACE_MS = 15_000;
/** npm passes the terminal's Ctrl-C on a second time; two signals this close are one key press. */
const SAME_PRESS_MS = 1000;
const DRAW_MS = 500;

/** A step cannot go on. `output` is what the failed command said last, `fix` what to do about it. */
export class StepFailure extends Error {
  constructor(message, { output = [], fix, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StepFailure";
    this.output = output;
    this.fix = fix;
  }
}

/** Ctrl-C, or a signal that asks for an end. */
export class Interrupted extends Error {
  constructor(signal) {
    super(`stopped by ${signal}`);
    this.name = "Interrupted";
    /** 128 + the signal's number, as shells have it. */
    this.exitCode = 128 + constants.signals[signal];
  }
}

/** Process groups of commands that run; whoever ends early kills them. */
const running = new Set();

/**
 * A signal that aborts with `Interrupted` at the first Ctrl-C, SIGTERM or SIGHUP. A second one kills what still runs and ends the process.
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
 * Numbers steps and shows each with its duration: `[3/7] Building … 12.3 s`.
 * @param {{ total: number, signal: AbortSignal, stream?: NodeJS.WriteStream }} options
 */
export function stepRunner({ total, signal, stream = process.stderr }) {
  let number = 0;
  /**
   * Runs one step and resolves with what `action` returns. `action` gets `{ signal, note, outcome }`: `note` prints a line while it runs,
   * `outcome` says what came of it in a word, e.g. "up to date". A failure that names no fix of its own gets `fix`.
   */
  async function step(title, action, { fix } = {}) {
    signal.throwIfAborted();
    number += 1;
    const head = `[${number}/${total}] ${title} …`;
    const startedMs = performance.now();
    const elapsed = () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
    let lineOpen = true;
    let came = "";
    const outcome = (text) => {
      came = ` (${text})`;
    };
    stream.write(head);
    const timer = stream.isTTY ? setInterval(() => lineOpen && stream.write(`\r${head} ${elapsed()}`), DRAW_MS) : undefined;
    /** Prints a line below the step's own; the step's end then gets a line of its own too. */
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
      close(`${elapsed()}${came}`);
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
 * Begins actions of steps at once, one after another, beside the steps that come before theirs. Returns for each the action that its step runs: it prints
 * what was noted until then, and waits. `end` is for whoever does not get that far: nothing more is begun, and what is under way is waited for, since half
 * an installation may be worse than none. Ctrl-C stops that, too.
 * @param {readonly ((context: object) => Promise<unknown>)[]} actions
 * @param {{ signal: AbortSignal }} options
 */
export function beside(actions, { signal }) {
  let isOver = false;
  let last = Promise.resolve();
  const awaited = actions.map((action) => {
    const said = [];
    let say = (what, text) => void said.push([what, text]);
    const context = { signal, note: (line) => say("note", line), outcome: (text) => say("outcome", text) };
    const ended = last.then(() => {
      if (isOver) throw new StepFailure("another step failed before it");
      return action(context);
    });
    // Whoever waits for it is told; nobody may.
    ended.catch(() => undefined);
    last = ended;
    return (step) => {
      say = (what, text) => step[what](text);
      for (const [what, text] of said) say(what, text);
      return ended;
    };
  });
  const end = async () => {
    isOver = true;
    await last.catch(() => undefined);
  };
  return { awaited, end };
}

function named(error, title, fix) {
  if (!(error instanceof StepFailure)) return new StepFailure(`${title}: ${error.stack ?? error}`, { fix, cause: error });
  return new StepFailure(`${title}: ${error.message}`, { output: error.output, fix: error.fix ?? fix, cause: error });
}

/** Writes what went wrong, the last output and how to fix it; answers the exit status for it. */
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
 * Runs a command in a process group of its own until it ends. Resolves with its standard output and the last lines of both outputs;
 * rejects with StepFailure when it fails, cannot be started or is not done within `timeoutMs`, and with the signal's reason on abort.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ signal: AbortSignal, cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number, fix?: string, onLine?: (line: string) => void }} options
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
  if (deadline.aborted) throw new StepFailure(`\`${shown}\` was not done after ${timeoutMs / 1000} s`, { output, fix });
  if (error !== undefined) throw new StepFailure(`\`${shown}\` could not be started: ${error.message}`, { output, fix, cause: error });
  if (code !== 0) throw new StepFailure(`\`${shown}\` ended with status ${code}`, { output, fix });
  return { stdout, output };
}

/**
 * Starts a command in a process group of its own, so that Ctrl-C reaches it only through us. Its last lines are kept.
 * `stop()` sends SIGTERM to the group, SIGKILL when that is not enough, and resolves when it is gone.
 */
export function startCommand(command, args, { cwd, env, onLine, stdin = "ignore" } = {}) {
  const child = spawn(command, args, { cwd, env: env ?? process.env, detached: process.platform !== "win32", stdio: [stdin, "pipe", "pipe"] });
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
  // The leader is gone; whatever it left in its group goes too.
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

/** Runs npm to its end: the one that runs this script if npm does, else the one on the PATH. */
export function npm(args, options) {
  const path = process.env.npm_execpath;
  return path?.endsWith("npm-cli.js") ? runCommand(process.execPath, [path, ...args], options) : runCommand("npm", args, options);
}
