import { maskText } from "@svc/protocol";

/** One problem with a file. */
export interface FileProblem {
  /** 1-based; undefined when the file as a whole is meant. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** Path of the key, e.g. `workers[2].config.port`. */
  readonly key: string | undefined;
  /** What is wrong and what is expected, one sentence. */
  readonly message: string;
}

/** A file cannot be used. The message lists every problem with file, line, key and what is expected; secrets in it are masked. */
export class FileError extends Error {
  readonly file: string;
  readonly problems: readonly FileProblem[];

  constructor(file: string, problems: readonly FileProblem[]) {
    // Messages may quote the file: a name, or an entry that is no block.
    const masked = problems.map((problem) => ({ ...problem, message: maskText(problem.message) }));
    super(masked.map((problem) => formatProblem(file, problem)).join("\n"));
    this.file = file;
    this.problems = masked;
  }
}

/** A problem with the file as a whole. */
export function problemOfFile(message: string): FileProblem {
  return { line: undefined, column: undefined, key: undefined, message };
}

/** Sorts by line, problems of the whole file first. Keeps only the first problem of each key, because the others follow from it. */
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
  const position = problem.line === undefined ? "" : `:${problem.line}${problem.column === undefined ? "" : `:${problem.column}`}`;
  return `${file}${position}: ${problem.key === undefined ? "" : `${problem.key}: `}${problem.message}`;
}
