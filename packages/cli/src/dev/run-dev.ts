import { basename, relative } from "node:path";
import type { Worker } from "@svc-runtime/sdk";
import { announcedEngine } from "../engine/announced-engine.ts";
import { announcedAddress, type EngineAddress } from "../engine/engine-address.ts";
import { withEngine } from "../engine/engine-session.ts";
import { CommandFailure } from "../exit-codes.ts";
import { parseLogLine } from "../logs/log-lines.ts";
import { listedEntries } from "../project/config-entries.ts";
import type { Shell } from "../shell.ts";
import { deferred, listenForStop, type StopRequests } from "../stop-requests.ts";
import { openBrowser } from "../terminal/open-browser.ts";
import { hangingIndent } from "../terminal/word-wrap.ts";
import { workerAddHint } from "../workers/worker-add-hint.ts";
import { controlWorker, listWorkers } from "../workers/worker-functions.ts";
import { KEYS_HELP, KEYS_LINE, listenForDevKeys } from "./dev-keys.ts";
import { DevOutput } from "./dev-output.ts";
import { followWorkers } from "./follow-workers.ts";
import { START_TIMEOUT_MS, untilConsoleIsUp, withinTime } from "./start-time.ts";
import { SvcChild } from "./svc-child.ts";

/** Maximum lines of output shown of a process that failed to start. */
const KEPT_LINES = 30;

export interface DevOptions {
  /** Absolute path. */
  readonly configFile: string;
  /** Flags for the engine and for the console, e.g. `["--http-port", "0"]`. */
  readonly engineFlags: readonly string[];
  readonly consoleFlags: readonly string[];
  readonly withConsole: boolean;
  /** Open the browser when the console is ready. */
  readonly open: boolean;
  /** Show no ids that svc made. */
  readonly quietIds: boolean;
}

interface EngineAddresses {
  readonly bridge: string;
  readonly http: string;
  readonly realtime: string;
}

/**
 * Runs engine, console and workers until the user stops them. All of them have exited when this settles. Throws if the
 * engine exits on its own.
 */
export async function runDev(shell: Shell, options: DevOptions): Promise<void> {
  const stop = listenForStop(shell, { stdin: "ignored", nowMs: () => performance.now() });
  const dev = new Dev(shell, options, stop);
  try {
    await dev.run();
  } finally {
    await dev.end();
    stop.forget();
  }
}

class Dev {
  readonly #shell: Shell;
  readonly #options: DevOptions;
  readonly #output: DevOutput;
  readonly #quit = new AbortController();
  readonly #startedAtMs = Date.now();
  #engine: SvcChild | undefined;
  #console: SvcChild | undefined;
  #consoleAddress: string | undefined;
  #stopKeys = (): void => {};

  constructor(shell: Shell, options: DevOptions, stop: StopRequests) {
    this.#shell = shell;
    this.#options = options;
    const workers = [...listedEntries(options.configFile).values()].filter(({ folder }) => folder !== undefined);
    this.#output = new DevOutput(shell, { names: workers.map(({ name }) => name), quietIds: options.quietIds });
    void stop.first.then(() => this.#requestStop());
    void stop.second.then(() => this.#killAll());
  }

  async run(): Promise<void> {
    // Listen from the beginning, so that a key can also stop a slow start.
    this.#listenForKeys();
    const addresses = await this.#startEngine();
    if (addresses === undefined) return;
    await withEngine(this.#address(addresses), "svc dev", async (engine) => {
      this.#listenForKeys(engine);
      const following = followWorkers(engine, {
        sinceMs: this.#startedAtMs,
        signal: this.#quit.signal,
        onLine: (line) => this.#output.worker(line),
        onProblem: (message) => this.#note(message),
      });
      try {
        if (this.#options.withConsole) await this.#startConsole();
        if (!this.#quit.signal.aborted) this.#summarise(addresses);
        if (this.#options.open) this.#openConsole();
        await this.#untilEnd();
      } finally {
        this.#quit.abort();
        await following;
      }
    });
  }

  /**
   * Stops engine, console and workers. May be called at any time. Keys still work until the end, so that the user can
   * stop at once.
   */
  async end(): Promise<void> {
    this.#quit.abort();
    try {
      await Promise.all([this.#console?.stop(), this.#engine?.stop()]);
    } finally {
      this.#output.flush();
      this.#stopKeys();
    }
  }

  /** Returns undefined if the user stopped it before the engine was up. */
  async #startEngine(): Promise<EngineAddresses | undefined> {
    const { configFile, engineFlags } = this.#options;
    const output: string[] = [];
    const up = deferred<EngineAddresses>();
    let isUp = false;
    const child = this.#spawn(["--config", configFile, "--log", "json", ...engineFlags], (line) => {
      const record = parseLogLine(line);
      // Plain text before the engine is up is the reason why it cannot start. It is shown in the error.
      if (record === undefined && !isUp) pushLast(output, line);
      else this.#output.own("engine", line);
      if (record?.message !== "the engine is up") return;
      isUp = true;
      up.settle(addressesIn(record.fields));
    });
    this.#engine = child;
    const outcome = await withinTime<EngineAddresses | string | undefined>([up.promise, child.ended, this.#aborted()]);
    if (outcome === "time up")
      throw new CommandFailure(`The engine did not report that it is up within ${START_TIMEOUT_MS / 1000} s.`);
    if (typeof outcome !== "string") return outcome;
    // The last lines may arrive together with the exit.
    const [first = `The engine exited while it was starting (${outcome}).`, ...more] = output;
    throw new CommandFailure(first.replace(/^error: /, ""), { advice: more });
  }

  /** Starts the console. If it fails to start, reports that and continues without it. */
  async #startConsole(): Promise<void> {
    const up = deferred<"up">();
    const child = this.#spawn(
      ["console", "--config", this.#options.configFile, "--no-open", ...this.#options.consoleFlags],
      (line) => {
        const address = /^The console is at (\S+)$/.exec(line)?.[1];
        if (address === undefined) {
          this.#output.own("console", line);
          return;
        }
        this.#consoleAddress = address;
        up.settle("up");
      },
    );
    this.#console = child;
    void child.ended.then((how) => {
      this.#consoleAddress = undefined;
      if (!this.#quit.signal.aborted)
        this.#output.own(
          "console",
          `the console has exited (${how}); everything else keeps running. Start it again with: svc console`,
        );
    });
    await untilConsoleIsUp([up.promise, child.ended, this.#aborted()], {
      report: (message) => this.#output.own("console", message),
    });
  }

  async #untilEnd(): Promise<void> {
    const ended = this.#engine?.ended ?? Promise.resolve("");
    const how = await Promise.race([ended, this.#aborted()]);
    if (how === undefined) return;
    throw new CommandFailure(`The engine exited (${how}); the console and the workers were stopped.`, {
      advice: ["The lines above may show the reason. Start again with: svc dev"],
    });
  }

  #spawn(args: readonly string[], onLine: (line: string) => void): SvcChild {
    // SVC_URL would point to another engine. Colours are added here.
    const { SVC_URL: _url, FORCE_COLOR: _force, ...env } = this.#shell.env;
    return new SvcChild({ args, cwd: this.#shell.cwd, env: { ...env, NO_COLOR: "1" }, onLine });
  }

  #address({ bridge }: EngineAddresses): EngineAddress {
    const announced = announcedEngine(this.#shell, this.#options.configFile);
    if (announced === undefined) return { url: bridge, shownUrl: bridge, from: "config" };
    return announcedAddress(this.#shell, this.#options.configFile, announced);
  }

  #summarise({ bridge, http, realtime }: EngineAddresses): void {
    const { paint, cwd, noteColumns } = this.#shell;
    const row = (name: string, value: string): string =>
      `${hangingIndent(`  ${paint.dim(name.padEnd(14))}`, value, noteColumns).join("\n")}\n`;
    const workers = [...listedEntries(this.#options.configFile).values()]
      .filter(({ folder }) => folder !== undefined)
      .map(({ name }) => name);
    const configFile = relative(cwd, this.#options.configFile);
    this.#output.flush();
    this.#shell.note(
      `\n${paint.bold("svc dev")} ${paint.green("is running")}\n\n${[
        row("console", this.#consoleAddress === undefined ? "not running" : paint.cyan(this.#consoleAddress)),
        row("HTTP API", paint.cyan(http)),
        row("live updates", paint.cyan(realtime)),
        row("workers", `${paint.cyan(bridge)}  address for workers (SVC_URL)`),
        row("config", configFile === "" ? basename(this.#options.configFile) : configFile),
        row(
          "local workers",
          workers.length === 0
            ? `none yet; in a second terminal: ${workerAddHint(cwd, this.#options.configFile)}`
            : workers.join(", "),
        ),
      ].join("")}\n  ${this.#shell.onKey === undefined ? "Press Ctrl-C to stop everything." : KEYS_LINE}\n\n`,
    );
  }

  #listenForKeys(engine?: Worker): void {
    this.#stopKeys();
    const unlessStopping = (action: () => void) => (): void => {
      if (!this.#quit.signal.aborted) action();
    };
    this.#stopKeys = listenForDevKeys(this.#shell, {
      restartWorkers: unlessStopping(
        () =>
          void this.#restartWorkers(engine).catch((error: unknown) =>
            this.#note(`Failed to restart the workers: ${messageOf(error)}`),
          ),
      ),
      openConsole: unlessStopping(() => this.#openConsole()),
      help: unlessStopping(() => {
        this.#output.flush();
        this.#shell.note(KEYS_HELP);
      }),
      quit: () => this.#requestStop(),
      emptyLine: () => this.#output.emptyLine(),
    });
  }

  async #restartWorkers(engine: Worker | undefined): Promise<void> {
    if (engine === undefined) throw new Error("the engine is still starting");
    const names = (await listWorkers(engine)).filter(({ kind }) => kind === "local").map(({ name }) => name);
    this.#note(names.length === 0 ? "There are no workers to restart." : `Restarting ${names.join(", ")}`);
    await Promise.all(names.map((name) => controlWorker(engine, "restart", name)));
  }

  #openConsole(): void {
    const address = this.#consoleAddress;
    if (address === undefined) this.#note("The console is not running; start it in a second terminal: svc console");
    else
      this.#note(
        openBrowser(address, this.#shell)
          ? `Opening ${address}`
          : `Cannot open a browser here; the console is at ${address}`,
      );
  }

  #note(text: string): void {
    this.#output.flush();
    this.#shell.note(`${this.#shell.paint.bold(text)}\n`);
  }

  #requestStop(): void {
    if (this.#quit.signal.aborted) {
      this.#killAll();
      return;
    }
    this.#note("Stopping the console, the engine and its workers. Press Ctrl-C again to stop at once.");
    this.#quit.abort();
  }

  #killAll(): void {
    this.#console?.kill();
    this.#engine?.kill();
  }

  /** Resolves when the user stops it. */
  #aborted(): Promise<undefined> {
    const { signal } = this.#quit;
    return new Promise((settle) => {
      if (signal.aborted) settle(undefined);
      signal.addEventListener("abort", () => settle(undefined), { once: true });
    });
  }
}

function addressesIn(fields: Readonly<Record<string, unknown>>): EngineAddresses {
  const { bridge, http, realtime } = fields;
  return { bridge: String(bridge), http: String(http), realtime: String(realtime) };
}

function pushLast(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > KEPT_LINES) lines.shift();
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
