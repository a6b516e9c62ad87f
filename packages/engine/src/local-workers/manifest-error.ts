export interface ManifestProblem {
  /** 1-based; undefined when the file as a whole is meant. */
  readonly line: number | undefined;
  /** Path of the key, e.g. `runtime.kind`. */
  readonly key: string | undefined;
  /** What is wrong and what is expected. */
  readonly message: string;
}

/** The folder cannot be run as a worker. The message lists every problem as `file:line: key: what is wrong; what is expected`. */
export class ManifestError extends Error {
  readonly file: string;
  readonly problems: readonly ManifestProblem[];

  constructor(file: string, problems: readonly ManifestProblem[]) {
    super(problems.map((problem) => formatProblem(file, problem)).join("\n"));
    this.name = "ManifestError";
    this.file = file;
    this.problems = problems;
  }
}

function formatProblem(file: string, problem: ManifestProblem): string {
  const line = problem.line === undefined ? "" : `:${problem.line}`;
  return `${file}${line}: ${problem.key === undefined ? "" : `${problem.key}: `}${problem.message}`;
}
