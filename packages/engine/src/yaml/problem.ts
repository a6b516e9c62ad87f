import { maskText } from "@svc-runtime/protocol";

/** A problem of a file. */
export interface FileProblem {
  /** Line number, from 1. Undefined if the problem concerns the whole file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** Path of the key, e.g. `workers[2].config.port`. */
  readonly key: string | undefined;
  /** One sentence that says what the problem is and what is expected. */
  readonly message: string;
}

/**
 * Thrown if a file cannot be used. The message lists every problem with file, line, key and expectation. Secrets are
 * masked.
 */
export class FileError extends Error {
  readonly file: string;
  readonly problems: readonly FileProblem[];

  constructor(file: string, problems: readonly FileProblem[]) {
    // Mask the messages, because they may quote parts of the file, e.g. a name.
    const masked = problems.map((problem) => ({ ...problem, message: maskText(problem.message) }));
    super(masked.map((problem) => formatProblem(file, problem)).join("\n"));
    this.file = file;
    this.problems = masked;
  }
}

/** Returns a problem of the whole file. */
export function problemOfFile(message: string): FileProblem {
  return { line: undefined, column: undefined, key: undefined, message };
}

/**
 * Sorts problems by line. Problems of the whole file come first. Keeps only the first problem of each key, because the
 * others are consequences of it.
 */
export function inFileOrder(problems: readonly FileProblem[]): FileProblem[] {
  const seen = new Set<string>();
  const firsts = problems.filter((problem) => {
    const id = problem.key ?? `${problem.line}:${problem.message}`;
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
  return firsts.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

function formatProblem(file: string, problem: FileProblem): string {
  const position =
    problem.line === undefined ? "" : `:${problem.line}${problem.column === undefined ? "" : `:${problem.column}`}`;
  return `${file}${position}: ${problem.key === undefined ? "" : `${problem.key}: `}${problem.message}`;
}
