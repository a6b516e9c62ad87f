import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

interface PendingCommand {
  readonly resolve: (output: string) => void;
  readonly reject: (error: Error) => void;
}

/** The reply to a command, while it is read. */
interface Reply {
  readonly id: string;
  readonly lines: string[];
}

/**
 * A tmux server with one session, driven over tmux's control mode: one process for all commands, which also reports the terminal's output.
 * Ends with this process, even if that is killed.
 */
export class TmuxClient {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  /** Settled by the reply to new-session. A command that is sent before it may run first and find no session. */
  readonly #started: Promise<unknown>;
  readonly #pending: PendingCommand[] = [];
  readonly #listeners = new Set<() => void>();
  #reply: Reply | undefined;
  #isClosed = false;
  #errors = "";

  /** Starts `args` of `tmux new-session` on a server of its own. */
  constructor(socket: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#child = spawn("tmux", ["-S", socket, "-f", "/dev/null", "-C", "new-session", ...args], {
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#closed = once(this.#child, "close").then(() => this.#end());
    this.#child.stdin?.on("error", () => {});
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
    this.#readLines();
    this.#started = new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
    });
    this.#started
      .then(
        () => this.command("set-option", "destroy-unattached", "on"),
        ({ message }: Error) => this.#fail(message),
      )
      .catch(() => {});
  }

  /** Runs a tmux command. Resolves with its output; rejects if it fails or the server has ended. */
  async command(...words: readonly string[]): Promise<string> {
    await this.#started;
    if (this.#isClosed) throw this.#ended();
    return await new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      this.#child.stdin?.write(`${words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ")}\n`);
    });
  }

  /** Resolves when the terminal has received more output, or has ended. */
  output(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const listener = (): void => {
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
  }

  async close(): Promise<void> {
    if (!this.#isClosed) this.#child.stdin?.end("kill-server\n");
    await this.#closed;
  }

  #readLines(): void {
    let rest = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (this.#reply === undefined) this.#readNotification(line);
        else this.#readReply(line, this.#reply);
      }
    });
  }

  #readNotification(line: string): void {
    const [, id] = /^%begin (.*)$/.exec(line) ?? [];
    if (id !== undefined) this.#reply = { id, lines: [] };
    else if (line.startsWith("%output ")) this.#notify();
    else if (line.startsWith("%exit")) this.#errors += `${line}\n`;
  }

  #readReply(line: string, { id, lines }: Reply): void {
    if (line !== `%end ${id}` && line !== `%error ${id}`) {
      lines.push(line);
      return;
    }
    this.#reply = undefined;
    const command = this.#pending.shift();
    const output = lines.join("\n");
    if (line.startsWith("%end")) command?.resolve(output);
    else command?.reject(new Error(`tmux: ${output}`));
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #fail(message: string): void {
    this.#errors += message;
    this.#child.kill();
  }

  #end(): void {
    this.#isClosed = true;
    for (const { reject } of this.#pending.splice(0)) reject(this.#ended());
    this.#notify();
  }

  #ended(): Error {
    const { exitCode, signalCode } = this.#child;
    return new Error(`The terminal has ended (${signalCode ?? exitCode}): ${this.#errors}`);
  }
}
