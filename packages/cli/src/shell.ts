import pc from "picocolors";
import { wantsColor } from "./terminal/colors.ts";
import { padded, widest } from "./terminal/text-width.ts";

type Colors = ReturnType<typeof pc.createColors>;

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP" | "stdin closed";

/** One choice of a selection. */
export interface Choice {
  readonly value: string;
  /** Short description of the choice. */
  readonly hint: string;
}

/** The environment in which a command runs: variables, terminal, signals. Tests pass their own. */
export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the working directory. Relative paths on the command line refer to it. */
  readonly cwd: string;
  /** Columns of standard output. Undefined if it is not a terminal. */
  readonly outColumns: number | undefined;
  /** Returns the current rows of standard output's terminal, or undefined if it is not a terminal. */
  outRows(): number | undefined;
  /** Columns of standard error. Undefined if it is not a terminal. */
  readonly noteColumns: number | undefined;
  /** Colours for standard error. They have no effect if it is not a terminal or NO_COLOR is set. */
  readonly paint: Colors;
  /** Writes results to standard output. Adds no newline. */
  out(text: string): void;
  /** Writes everything that is not a result to standard error. */
  note(text: string): void;
  /**
   * Asks a question. Resolves with the typed line, or with undefined at the end of standard input or after Ctrl-C. This
   * member is undefined unless standard input and standard error are terminals.
   */
  readonly ask: ((question: string) => Promise<string | undefined>) | undefined;
  /** Lets the user select a value with the arrow keys. Resolves with undefined after Ctrl-C. Available if `ask` is. */
  readonly choose: ((question: string, choices: readonly Choice[]) => Promise<string | undefined>) | undefined;
  /**
   * Calls the listener for each key: a character, or a name such as `ctrl-c`. Returns a function that removes the
   * listener. This member is undefined unless standard input and standard output are terminals.
   */
  readonly onKey: ((listener: (key: string) => void) => () => void) | undefined;
  /**
   * Calls the listener for each request to stop. Returns a function that removes the listener. Signals do not end the
   * process while there is a listener.
   */
  onStopSignal(listener: (signal: StopSignal) => void): () => void;
  /** Calls the listener once when standard input ends. Discards the input. */
  onStdinEnd(listener: () => void): () => void;
  /** Reads standard input to its end. Returns undefined if it is longer than `maxBytes`. */
  readStdin(limit: { readonly maxBytes: number }): Promise<Uint8Array | undefined>;
}

/**
 * Creates the shell of a real process. Writing to a closed pipe (`svc … | head`) is not an error: the output is
 * dropped.
 */
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

/**
 * Calls the listener for each key, without waiting for Enter and without echo. When the process exits, the terminal is
 * restored.
 */
function listenForKeys(process: NodeJS.Process, listener: (key: string) => void): () => void {
  const { stdin } = process;
  const restore = (): void => void stdin.setRawMode(false);
  const forward = (text: string): void => {
    for (const key of text) listener(key === "\u0003" ? "ctrl-c" : key);
  };
  stdin.setRawMode(true).setEncoding("utf8").on("data", forward).resume();
  process.on("exit", restore);
  return () => {
    process.off("exit", restore);
    stdin.off("data", forward).pause();
    restore();
  };
}

async function ask({ stdin, stderr }: NodeJS.Process, question: string): Promise<string | undefined> {
  // Imported lazily, because only few commands ask questions.
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

async function choose(
  { stdin, stderr }: NodeJS.Process,
  question: string,
  choices: readonly Choice[],
): Promise<string | undefined> {
  const { isCancel, select } = await import("@clack/prompts");
  const width = widest(choices.map(({ value }) => value));
  // Show the hints of all choices, so that new users can compare them. By default the library shows only the hint of
  // the current choice.
  const options = choices.map(({ value, hint }) => ({ value, label: `${padded(value, width)}  ${hint}` }));
  const picked = await select({ message: question, options, input: stdin, output: stderr, withGuide: false });
  stdin.pause();
  return isCancel(picked) ? undefined : picked;
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  // EIO means that the terminal was closed.
  if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
}

/** Reads a stream to its end. If it has more than `maxBytes`, stops reading and returns undefined. */
export async function readToEnd(stream: AsyncIterable<unknown>, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const part = chunk as Buffer;
    bytes += part.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(part);
  }
  return Buffer.concat(chunks);
}
