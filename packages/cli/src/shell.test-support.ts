import pc from "picocolors";
import type { Shell, StopSignal } from "./shell.ts";

/** A shell that records its output and receives signals from the test. */
export interface RecordedShell extends Shell {
  readonly written: { out: string; notes: string };
  /** Resolves once standard error contains the text. The test's timeout ends a failed wait. */
  noted(text: string): Promise<void>;
  /** Like `noted`, for standard output. */
  printed(text: string): Promise<void>;
  stop(signal: StopSignal): void;
  /** Number of listeners for signals. */
  readonly listeners: () => number;
}

export interface RecordedShellOptions
  extends Partial<Pick<Shell, "env" | "cwd" | "outColumns" | "noteColumns" | "onKey">> {
  /** Content of standard input. */
  readonly stdin?: string | Uint8Array | Uint8Array;
  /** Answers to questions and choices, in order. If given, the shell can ask. */
  readonly answers?: readonly string[];
  /** Rows of the terminal. Undefined without a terminal. */
  readonly rows?: number;
}

/** Creates a shell. The default has no terminal, no colours and no environment variables. */
export function recordedShell(options: RecordedShellOptions = {}): RecordedShell {
  const answers = [...(options.answers ?? [])];
  const written = { out: "", notes: "" };
  type Stream = keyof RecordedShell["written"];
  const waiting = new Set<{ readonly stream: Stream; readonly text: string; settle(): void }>();
  const write = (stream: Stream, text: string): void => {
    written[stream] += text;
    for (const wait of waiting) if (written[wait.stream].includes(wait.text)) wait.settle();
  };
  const holds = (stream: Stream, text: string): Promise<void> =>
    new Promise((settle) => {
      if (written[stream].includes(text)) settle();
      else waiting.add({ stream, text, settle });
    });
  const answer = async (question: string): Promise<string | undefined> => {
    write("notes", question);
    return answers.shift();
  };
  const stopListeners = new Set<(signal: StopSignal) => void>();
  return {
    env: options.env ?? {},
    cwd: options.cwd ?? process.cwd(),
    outColumns: options.outColumns,
    outRows: () => options.rows,
    noteColumns: options.noteColumns,
    onKey: options.onKey,
    paint: pc.createColors(false),
    written,
    out: (text) => write("out", text),
    note: (text) => write("notes", text),
    noted: (text) => holds("notes", text),
    printed: (text) => holds("out", text),
    onStopSignal(listener) {
      stopListeners.add(listener);
      return () => stopListeners.delete(listener);
    },
    onStdinEnd: () => () => {},
    readStdin: async ({ maxBytes }) => {
      const bytes = Buffer.from(options.stdin ?? "");
      return bytes.length > maxBytes ? undefined : bytes;
    },
    ask: options.answers === undefined ? undefined : answer,
    choose: options.answers === undefined ? undefined : answer,
    stop: (signal) => {
      for (const listener of stopListeners) listener(signal);
    },
    listeners: () => stopListeners.size,
  };
}
