import { type ChildProcess, fork } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { GeneratorTask, TaskReply, Window } from "./generator/load.ts";
import type { Announcement } from "./servers/announce.ts";

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 15_000;
/** Time limit of a task in addition to its warm-up and measuring time. */
const TASK_GRACE_MS = 60_000;

const children = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** Registers a child so that it ends with this process. */
export function adopt(child: ChildProcess): void {
  children.add(child);
  child.once("exit", () => children.delete(child));
}

/** Rejects with `problem` unless `work` settles within `timeoutMs`. */
export async function within<T>(timeoutMs: number, problem: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${problem} within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Stops a child with a signal, and kills it after 15 s. Resolves when it has ended. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

export function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error(`could not start ${child.spawnfile}`);
  return child.pid;
}

/** Returns the path of a script of the bench, given relative to this folder and without its extension. */
export function benchScript(name: string): string {
  const built = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  if (!existsSync(built))
    throw new Error(`${built} is missing; run the bench with npm run bench, which builds it first`);
  return built;
}

function forkScript(name: string, args: readonly string[], execPath = process.execPath): ChildProcess {
  // The child's standard output is ignored, because clients of other systems write greetings to it, and the bench's own
  // standard output is for the tables.
  const child = fork(benchScript(name), args, {
    execPath,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    execArgv: [],
  });
  // Without a listener, a failed start or message would end the bench. It also ends the child, which is noticed then.
  child.on("error", () => child.kill("SIGKILL"));
  adopt(child);
  return child;
}

/** Resolves with the next message of a child. Rejects if the child ends first. */
function nextMessage<T>(child: ChildProcess, name: string): Promise<T> {
  return new Promise((resolve, reject) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      reject(new Error(`${name} has ended`));
      return;
    }
    const onExit = (code: number | null, signal: string | null): void => {
      child.off("message", onMessage);
      reject(new Error(`${name} ended with ${signal ?? `code ${code}`}`));
    };
    const onMessage = (message: unknown): void => {
      child.off("exit", onExit);
      resolve(message as T);
    };
    child.once("exit", onExit);
    child.once("message", onMessage);
  });
}

/** A measured server in its own process. */
export interface Server {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts one of `servers/` and waits until it listens. */
export async function startServer(name: string): Promise<Server> {
  const child = forkScript(`servers/${name}`, []);
  const { port } = await within(START_TIMEOUT_MS, `${name} did not listen`, nextMessage<Announcement>(child, name));
  return { pid: pidOf(child), port, stop: () => stopProcess(child) };
}

/** A child process that answers one request at a time over its message channel. */
export class RequestProcess<Request, Reply> {
  readonly pid: number;
  readonly #name: string;
  readonly #child: ChildProcess;

  private constructor(name: string, child: ChildProcess) {
    this.#name = name;
    this.#child = child;
    this.pid = pidOf(child);
  }

  /** Starts a script of the bench that sends one message when it is ready. `execPath`: the Node that runs it. */
  static async start<Request, Reply>(
    script: string,
    args: readonly string[],
    { timeoutMs = START_TIMEOUT_MS, execPath }: { readonly timeoutMs?: number; readonly execPath?: string } = {},
  ): Promise<RequestProcess<Request, Reply>> {
    const child = forkScript(script, args, execPath);
    const started = await within(
      timeoutMs,
      `${script} was not ready`,
      nextMessage<{ readonly error?: string }>(child, script),
    );
    if (started.error !== undefined) throw new Error(`${script}: ${started.error}`);
    return new RequestProcess(script, child);
  }

  ask(request: Request, timeoutMs: number): Promise<Reply> {
    const reply = nextMessage<Reply>(this.#child, this.#name);
    this.#child.send(request as object);
    return within(timeoutMs, `${this.#name} did not answer`, reply);
  }

  stop(): Promise<void> {
    return stopProcess(this.#child);
  }
}

/** A task of the generator that returns a window. */
export type MeasuredTask = Extract<GeneratorTask, { readonly measureMs: number }>;

/** The load generator's process. */
export class Generator {
  readonly #process: RequestProcess<{ id: number; task: GeneratorTask }, TaskReply>;
  #nextId = 1;

  private constructor(process: RequestProcess<{ id: number; task: GeneratorTask }, TaskReply>) {
    this.#process = process;
  }

  static async start(): Promise<Generator> {
    return new Generator(await RequestProcess.start("generator/main", []));
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Runs a load and resolves with the results of its window. Rejects with the generator's error. */
  async measure(task: MeasuredTask): Promise<Window> {
    const window = await this.#ask(task, task.warmUpMs + task.measureMs + TASK_GRACE_MS);
    if (window === undefined) throw new Error(`the generator returned no window for ${task.kind}`);
    return window;
  }

  /** Runs a task without a measurement. */
  async perform(task: GeneratorTask): Promise<void> {
    await this.#ask(task, TASK_GRACE_MS);
  }

  async #ask(task: GeneratorTask, timeoutMs: number): Promise<Window | undefined> {
    const reply = await this.#process.ask({ id: this.#nextId++, task }, timeoutMs);
    if ("error" in reply) throw new Error(`${task.kind}: ${reply.error}`);
    return reply.window;
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
