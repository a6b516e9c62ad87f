import pc from "picocolors";
import { readToEnd } from "./bounded-read.ts";
import { padded, widest } from "./text-width.ts";

type Colors = ReturnType<typeof pc.createColors>;

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP" | "stdin closed";

/** One of those to pick from. */
export interface Choice {
  readonly value: string;
  /** What is picked with it, in a few words. */
  readonly hint: string;
}

/** What a command sees of the process that it runs in. Tests hand in their own. */
export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path that relative paths on the command line start from. */
  readonly cwd: string;
  /** Columns of standard output; undefined when it is not a terminal. */
  readonly outColumns: number | undefined;
  /** Lines of standard output's terminal as it is now; undefined when it is none. */
  outRows(): number | undefined;
  /** Columns of standard error; undefined when it is not a terminal. */
  readonly noteColumns: number | undefined;
  /** Colours for standard error; each is the identity when it is not a terminal or NO_COLOR is set. */
  readonly paint: Colors;
  /** Writes to standard output: results, and nothing else. The text brings its own line ends. */
  out(text: string): void;
  /** Writes to standard error: everything that is not a result. */
  note(text: string): void;
  /**
   * What is typed in answer to a question, without its line end; undefined when standard input ends, or at Ctrl-C. Undefined itself where nobody can be
   * asked: unless standard input and standard error are terminals.
   */
  readonly ask: ((question: string) => Promise<string | undefined>) | undefined;
  /** The value of the choice that is picked with the arrow keys; undefined at Ctrl-C. There where `ask` is. */
  readonly choose: ((question: string, choices: readonly Choice[]) => Promise<string | undefined>) | undefined;
  /** Tells of each key that is pressed, until undone: characters, or a name such as `ctrl-c`. Undefined unless input and output are terminals. */
  readonly onKey: ((listener: (key: string) => void) => () => void) | undefined;
  /** Tells of each request to stop until undone. While someone listens, signals no longer end the process by themselves. */
  onStopSignal(listener: (signal: StopSignal) => void): () => void;
  /** Tells once when standard input ends. Reads and drops what comes before. */
  onStdinEnd(listener: () => void): () => void;
  /** Standard input to its end; undefined when it is longer than `maxBytes`. */
  readStdin(limit: { readonly maxBytes: number }): Promise<Uint8Array | undefined>;
}

/** The shell of a real process. A reader that went away (`svc … | head`) is no error: what it would have read is dropped. */
export function processShell(process: NodeJS.Process): Shell {
  const noteColumns = process.stderr.isTTY ? process.stderr.columns : undefined;
  for (const stream of [process.stdout, process.stderr]) stream.on("error", ignoreClosedPipe);
  const canAsk = process.stdin.isTTY && noteColumns !== undefined;
  return {
    env: process.env,
    cwd: process.cwd(),
    outColumns: process.stdout.isTTY ? process.stdout.columns : undefined,
    outRows: () => (process.stdout.isTTY ? process.stdout.rows : undefined),
    noteColumns,
    paint: pc.createColors(wantsColor(process.env, noteColumns !== undefined)),
    out: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
    ask: canAsk ? (question) => ask(process, question) : undefined,
    choose: canAsk ? (question, choices) => choose(process, question, choices) : undefined,
    onKey: process.stdin.isTTY && process.stdout.isTTY ? (listener) => listenForKeys(process, listener) : undefined,
    onStopSignal(listener) {
      const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
      const listeners = signals.map((signal) => [signal, () => listener(signal)] as const);
      for (const [signal, forward] of listeners) process.on(signal, forward);
      return () => {
        for (const [signal, forward] of listeners) process.off(signal, forward);
      };
    },
    onStdinEnd(listener) {
      process.stdin.once("end", listener).once("close", listener).resume();
      return () => {
        process.stdin.off("end", listener).off("close", listener);
        process.stdin.pause();
      };
    },
    readStdin: ({ maxBytes }) => readToEnd(process.stdin, maxBytes),
  };
}

/** Without Enter, and without the terminal showing them. Whatever ends the process gives the terminal its own ways back. */
function listenForKeys(process: NodeJS.Process, listener: (key: string) => void): () => void {
  const { stdin } = process;
  const restore = (): void => void stdin.setRawMode(false);
  const tell = (text: string): void => {
    for (const key of text) listener(key === "\u0003" ? "ctrl-c" : key);
  };
  stdin.setRawMode(true).setEncoding("utf8").on("data", tell).resume();
  process.on("exit", restore);
  return () => {
    process.off("exit", restore);
    stdin.off("data", tell).pause();
    restore();
  };
}

async function ask({ stdin, stderr }: NodeJS.Process, question: string): Promise<string | undefined> {
  // Loaded here and not above: few commands ask.
  const { createInterface } = await import("node:readline");
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return await new Promise<string | undefined>((settle) => {
      lines.once("close", () => settle(undefined));
      lines.question(question, settle);
    });
  } finally {
    lines.close();
    stdin.pause();
  }
}

async function choose({ stdin, stderr }: NodeJS.Process, question: string, choices: readonly Choice[]): Promise<string | undefined> {
  const { isCancel, select } = await import("@clack/prompts");
  const width = widest(choices.map(({ value }) => value));
  // All hints at once: a newcomer compares them. Of itself the library shows that of the choice at hand only.
  const options = choices.map(({ value, hint }) => ({ value, label: `${padded(value, width)}  ${hint}` }));
  const picked = await select({ message: question, options, input: stdin, output: stderr, withGuide: false });
  stdin.pause();
  return isCancel(picked) ? undefined : picked;
}

/** Colours only on a terminal; NO_COLOR (any value but the empty one) turns them off, FORCE_COLOR on. */
export function wantsColor(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  if ((env.NO_COLOR ?? "") !== "") return false;
  if ((env.FORCE_COLOR ?? "") !== "" && env.FORCE_COLOR !== "0") return true;
  return isTerminal && env.TERM !== "dumb";
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  // EIO: the terminal itself is gone.
  if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
}
