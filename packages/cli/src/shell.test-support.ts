import pc from "picocolors";
import type { Shell, StopSignal } from "./shell.ts";

/** A shell whose output is kept and whose signals the test sends. */
export interface RecordedShell extends Shell {
  readonly written: { out: string; notes: string };
  /** Resolves once standard error holds the text. The test's own deadline ends a wait that is in vain. */
  noted(text: string): Promise<void>;
  stop(signal: StopSignal): void;
  /** How many listen for signals now. */
  readonly listeners: () => number;
}

/** Not a terminal, no colours, no variables, unless said otherwise. */
export function recordedShell(options: Partial<Pick<Shell, "env" | "cwd" | "outColumns" | "noteColumns" | "ask" | "onKey">> = {}): RecordedShell {
  const written = { out: "", notes: "" };
  const waiting = new Set<{ readonly text: string; settle(): void }>();
  const stopListeners = new Set<(signal: StopSignal) => void>();
  return {
    env: options.env ?? {},
    cwd: options.cwd ?? process.cwd(),
    outColumns: options.outColumns,
    noteColumns: options.noteColumns,
    ask: options.ask,
    onKey: options.onKey,
    paint: pc.createColors(false),
    written,
    out: (text) => {
      written.out += text;
    },
    note: (text) => {
      written.notes += text;
      for (const wait of waiting) if (written.notes.includes(wait.text)) wait.settle();
    },
    noted: (text) =>
      new Promise((settle) => {
        if (written.notes.includes(text)) settle();
        else waiting.add({ text, settle });
      }),
    onStopSignal(listener) {
      stopListeners.add(listener);
      return () => stopListeners.delete(listener);
    },
    onStdinEnd: () => () => {},
    stop: (signal) => {
      for (const listener of stopListeners) listener(signal);
    },
    listeners: () => stopListeners.size,
  };
}
