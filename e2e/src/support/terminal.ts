import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { TmuxClient } from "./tmux-client.ts";

/** Folder where npm links `svc`, as in a user's PATH. */
const binFolder = fileURLToPath(new URL("../../../node_modules/.bin", import.meta.url));

const DEFAULT_TIMEOUT_MS = 60_000;

export interface TerminalOptions {
  readonly cwd: string;
  /** Default 100. */
  readonly columns?: number;
  /** Default 40. */
  readonly rows?: number;
  /** Added to the variables of this process; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Result of a command. */
export interface Executed {
  readonly status: number;
  /** Text of the terminal since the command was typed, including scrolled-off lines. */
  readonly text: string;
}

/** A real terminal with a shell, driven by keys and read from its screen. Close it after each test. */
export interface Terminal {
  /** Types literal text, without Enter. */
  type(text: string): Promise<void>;
  /** Presses keys by tmux's names for them, e.g. `Enter`, `C-c`, `Up`. */
  press(...keys: readonly string[]): Promise<void>;
  /** Types a command on a cleared screen and presses Enter; for commands that keep running. */
  start(command: string): Promise<void>;
  /** Same as `start`, and waits until the command has ended. */
  execute(command: string, options?: { readonly timeoutMs?: number }): Promise<Executed>;
  /** Waits until the last command that was started has ended. */
  ended(options?: { readonly timeoutMs?: number }): Promise<Executed>;
  /** Returns the visible lines without trailing blanks. */
  screen(): Promise<string>;
  /** Same, with the escape sequences of colours. */
  colouredScreen(): Promise<string>;
  /**
   * Waits until the screen or its scrollback matches the pattern; returns the match. The error contains what is shown
   * instead.
   */
  shows(pattern: string | RegExp, options?: { readonly timeoutMs?: number }): Promise<RegExpExecArray>;
  resize(size: { readonly columns: number; readonly rows: number }): Promise<void>;
  close(): Promise<void>;
}

/** Opens a terminal: a tmux server with its own socket. `svc` is on its PATH. */
export async function openTerminal({ cwd, columns = 100, rows = 40, env = {} }: TerminalOptions): Promise<Terminal> {
  const folder = mkdtempSync(join(tmpdir(), "svc-terminal-"));
  const rcFile = join(folder, "bashrc");
  // The prompt contains the number and the exit status of the previous command, so nothing else on the screen looks
  // like it.
  writeFileSync(rcFile, "PS1='[\\# $?]$ '\nHISTFILE=/dev/null\n");
  const size = ["-x", String(columns), "-y", String(rows)];
  const client = new TmuxClient(
    join(folder, "socket"),
    [...size, "-c", cwd, `bash --rcfile ${rcFile} -i`],
    terminalEnvironment(env),
  );
  return new TmuxTerminal(client, () => rmSync(folder, { recursive: true, force: true })).ready();
}

/** The environment without variables of the tester's terminal and engine. */
function terminalEnvironment(own: TerminalOptions["env"]): NodeJS.ProcessEnv {
  const {
    TMUX: _tmux,
    TMUX_PANE: _pane,
    NO_COLOR: _noColor,
    FORCE_COLOR: _force,
    SVC_URL: _url,
    SVC_TOKEN: _token,
    DISPLAY: _display,
    ...inherited
  } = process.env;
  const merged = {
    ...inherited,
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    PATH: `${binFolder}${delimiter}${process.env.PATH ?? ""}`,
    ...own,
  };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
}

class TmuxTerminal implements Terminal {
  readonly #tmux: TmuxClient;
  readonly #remove: () => void;
  /** Number of the command in the next prompt. */
  #number = 1;

  constructor(tmux: TmuxClient, remove: () => void) {
    this.#tmux = tmux;
    this.#remove = remove;
  }

  async ready(): Promise<Terminal> {
    await this.shows(/^\[1 0\]\$/m);
    return this;
  }

  async type(text: string): Promise<void> {
    await this.#tmux.command("send-keys", "-l", "--", text);
  }

  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux.command("send-keys", "--", ...keys);
  }

  async start(command: string): Promise<void> {
    // On an empty screen the effect of the key would not be visible, and what it clears goes into the history, perhaps
    // after it was cleared.
    if (!(await this.#isEmpty())) await this.press("C-l");
    await this.#until(
      `an empty screen with the prompt [${this.#number}`,
      async () => (await this.#isEmpty()) || undefined,
    );
    await this.#tmux.command("clear-history");
    await this.type(command);
    await this.press("Enter");
    this.#number += 1;
  }

  async execute(command: string, options: { readonly timeoutMs?: number } = {}): Promise<Executed> {
    await this.start(command);
    return await this.ended(options);
  }

  async ended(options: { readonly timeoutMs?: number } = {}): Promise<Executed> {
    const [, status] = await this.shows(new RegExp(`^\\[${this.#number} (\\d+)\\]\\$`, "m"), options);
    const text = await this.#all();
    return { status: Number(status), text: text.slice(0, text.lastIndexOf(`[${this.#number} `)) };
  }

  async screen(): Promise<string> {
    return trimmed(await this.#tmux.command("capture-pane", "-p"));
  }

  async colouredScreen(): Promise<string> {
    return await this.#tmux.command("capture-pane", "-p", "-e");
  }

  async shows(
    pattern: string | RegExp,
    { timeoutMs = DEFAULT_TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
  ): Promise<RegExpExecArray> {
    const wanted = typeof pattern === "string" ? new RegExp(pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")) : pattern;
    return await this.#until(String(pattern), async () => wanted.exec(await this.#all()) ?? undefined, timeoutMs);
  }

  async resize({ columns, rows }: { readonly columns: number; readonly rows: number }): Promise<void> {
    await this.#tmux.command("resize-window", "-x", String(columns), "-y", String(rows));
  }

  async close(): Promise<void> {
    try {
      await this.#tmux.close();
    } finally {
      this.#remove();
    }
  }

  /** True if the screen shows only a prompt. */
  async #isEmpty(): Promise<boolean> {
    const [, number] = /^\[(\d+) \d+\]\$$/.exec((await this.screen()).trim()) ?? [];
    return number === String(this.#number);
  }

  async #all(): Promise<string> {
    return trimmed(await this.#tmux.command("capture-pane", "-p", "-S", "-"));
  }

  /** Checks again after each output of the terminal. */
  async #until<Found>(
    what: string,
    look: () => Promise<Found | undefined>,
    timeoutMs = DEFAULT_TIMEOUT_MS,
  ): Promise<Found> {
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<true>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, true);
    });
    try {
      for (;;) {
        const output = this.#tmux.output();
        const found = await look();
        if (found !== undefined) return found;
        if (await Promise.race([output, expired]))
          throw new Error(`The terminal did not show ${what} within ${timeoutMs} ms. It shows:\n${await this.#all()}`);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

function trimmed(captured: string): string {
  return captured.replaceAll(/[ \t]+$/gm, "").trimEnd();
}
