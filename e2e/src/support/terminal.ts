import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { TmuxClient } from "./tmux-client.ts";

/** Where npm links `svc`, as a user's PATH has it. */
const binFolder = fileURLToPath(new URL("../../../node_modules/.bin", import.meta.url));

const DEFAULT_TIMEOUT_MS = 60_000;

export interface TerminalOptions {
  readonly cwd: string;
  /** Default 100. */
  readonly columns?: number;
  /** Default 40. */
  readonly rows?: number;
  /** Beside those of this process; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What a command left behind. */
export interface Executed {
  readonly status: number;
  /** The terminal's text since the command was typed, scrolled-off lines too. */
  readonly text: string;
}

/** A real terminal with a shell in it, driven by keys and read by its screen. Close it after each test. */
export interface Terminal {
  /** Types text as it is, without Enter. */
  type(text: string): Promise<void>;
  /** Presses keys by tmux's names for them, e.g. `Enter`, `C-c`, `Up`. */
  press(...keys: readonly string[]): Promise<void>;
  /** Types a command on an emptied screen and presses Enter; for commands that go on running. */
  start(command: string): Promise<void>;
  /** Likewise, and waits until the command has ended. */
  execute(command: string, options?: { readonly timeoutMs?: number }): Promise<Executed>;
  /** Waits until the command that was started last has ended. */
  ended(options?: { readonly timeoutMs?: number }): Promise<Executed>;
  /** The visible lines, without blanks at their ends. */
  screen(): Promise<string>;
  /** The same with the escape sequences of its colours. */
  colouredScreen(): Promise<string>;
  /** Waits until the screen, or what scrolled off it, shows the pattern; answers the match. Fails with what is there instead. */
  shows(pattern: string | RegExp, options?: { readonly timeoutMs?: number }): Promise<RegExpExecArray>;
  resize(size: { readonly columns: number; readonly rows: number }): Promise<void>;
  close(): Promise<void>;
}

/** Opens a terminal of its own (a tmux server with a socket that nobody else has). `svc` is on its PATH. */
export async function openTerminal({ cwd, columns = 100, rows = 40, env = {} }: TerminalOptions): Promise<Terminal> {
  const folder = mkdtempSync(join(tmpdir(), "svc-terminal-"));
  const rcFile = join(folder, "bashrc");
  // The prompt counts commands and tells how the one before ended: nothing else on the screen can be taken for it.
  writeFileSync(rcFile, "PS1='[\\# $?]$ '\nHISTFILE=/dev/null\n");
  const size = ["-x", String(columns), "-y", String(rows)];
  const client = new TmuxClient(join(folder, "socket"), [...size, "-c", cwd, `bash --rcfile ${rcFile} -i`], terminalEnvironment(env));
  return new TmuxTerminal(client, () => rmSync(folder, { recursive: true, force: true })).ready();
}

/** Without what belongs to the terminal, or to the engine, of whoever runs the tests. */
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
  /** Number of the command that the prompt waits for. */
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
    // On a screen that is empty already nobody could tell when the key has been taken, and what it clears goes into the history, perhaps after ours is cleared.
    if (!(await this.#isEmpty())) await this.press("C-l");
    await this.#until(`an empty screen with the prompt [${this.#number}`, async () => (await this.#isEmpty()) || undefined);
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

  async shows(pattern: string | RegExp, { timeoutMs = DEFAULT_TIMEOUT_MS }: { readonly timeoutMs?: number } = {}): Promise<RegExpExecArray> {
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

  /** True when nothing but a prompt is there. */
  async #isEmpty(): Promise<boolean> {
    const [, number] = /^\[(\d+) \d+\]\$$/.exec((await this.screen()).trim()) ?? [];
    return number === String(this.#number);
  }

  async #all(): Promise<string> {
    return trimmed(await this.#tmux.command("capture-pane", "-p", "-S", "-"));
  }

  /** Looks again after each output of the terminal. */
  async #until<Found>(what: string, look: () => Promise<Found | undefined>, timeoutMs = DEFAULT_TIMEOUT_MS): Promise<Found> {
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<true>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, true);
    });
    try {
      for (;;) {
        const output = this.#tmux.output();
        const found = await look();
        if (found !== undefined) return found;
        if (await Promise.race([output, expired])) throw new Error(`The terminal did not show ${what} within ${timeoutMs} ms. It shows:\n${await this.#all()}`);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

function trimmed(captured: string): string {
  return captured.replaceAll(/[ \t]+$/gm, "").trimEnd();
}
