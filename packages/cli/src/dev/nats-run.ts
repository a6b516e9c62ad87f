import { LineSplitter, type ProcessGroup, startProcessGroup } from "@svc-runtime/engine/local-workers";
import { quoteWord } from "@svc-runtime/protocol";
import { CommandFailure } from "../exit-codes.ts";
import { deferred } from "../stop-requests.ts";
import type { DevProcess } from "./dev-process.ts";

const STOP_GRACE_MS = 10_000;
const LOG_LINE = /^\[\d+\] \S+ \S+ \[(?<level>[A-Z]+)\] (?<text>.*)$/;

export interface NatsRunOptions {
  readonly name: string;
  readonly program: string;
  /** Path of the server's config file. */
  readonly file: string;
  /** Absolute path of the working folder. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Called with each error in the server's log. */
  readonly onError: (line: string) => void;
}

/** One run of a NATS server. The server does not outlive this process. */
export class NatsRun implements DevProcess<void> {
  readonly up: Promise<void>;
  readonly ended: Promise<string>;
  readonly #name: string;
  readonly #group: ProcessGroup;
  #pid: number | undefined;
  #lastLine: string | undefined;

  constructor({ name, program, file, cwd, env, onError }: NatsRunOptions) {
    this.#name = name;
    const ready = deferred<void>();
    const read = (line: string): void => {
      const { level, text = line } = LOG_LINE.exec(line)?.groups ?? {};
      if (text.startsWith("Server is ready")) ready.settle();
      // Warnings are skipped, because the warnings of each start would hide the output of the workers.
      if (level === "INF" || level === "DBG" || level === "WRN") return;
      this.#lastLine = text;
      onError(text);
    };
    this.#group = startProcessGroup({
      command: `exec ${quoteWord(program)} -c ${quoteWord(file)}`,
      cwd,
      env,
      capture: ({ stdout, stderr }) => {
        for (const stream of [stdout, stderr]) {
          const lines = new LineSplitter(read);
          stream.on("data", (chunk: Buffer) => lines.push(chunk)).on("end", () => lines.end());
        }
      },
    });
    this.up = ready.promise.then(async () => {
      [this.#pid] = await this.#group.pids();
    });
    this.ended = this.#group.ended.then(({ problem, signal, code }) => problem ?? signal ?? `exit code ${code}`);
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  startFailure(how: string): CommandFailure {
    const reason = this.#lastLine === undefined ? "" : `: ${this.#lastLine}`;
    return new CommandFailure(`The NATS server ${this.#name} ended while it was starting (${how})${reason}`);
  }

  async stop(): Promise<void> {
    await this.#group.stop({ graceMs: STOP_GRACE_MS });
  }

  kill(): void {
    this.#group.kill();
  }
}
