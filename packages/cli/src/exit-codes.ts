/** What the exit status of `svc` says. */
export const EXIT = {
  done: 0,
  /** The function or the command failed. */
  failed: 1,
  /** The command line was not understood. */
  usage: 2,
  /** No engine answered at the address that was tried. */
  noEngine: 3,
  /** A defect of svc itself. */
  internal: 70,
} as const;

/** For people: what help and the reference say of each. */
export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  [EXIT.done]: "done",
  [EXIT.failed]: "failed",
  [EXIT.usage]: "wrong usage",
  [EXIT.noEngine]: "no engine reachable",
  [EXIT.internal]: "internal error",
};

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface CommandFailureOptions {
  readonly exitCode?: ExitCode;
  /** What to do about it; each entry is a line below the message. */
  readonly advice?: readonly string[];
  readonly cause?: unknown;
}

/** A command cannot go on, and the user can do something about it. The message is for people. Exit 1 unless said otherwise. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  readonly advice: readonly string[];

  constructor(message: string, options: CommandFailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CommandFailure";
    this.exitCode = options.exitCode ?? EXIT.failed;
    this.advice = options.advice ?? [];
  }
}

/** The command line is wrong: exit 2. */
export function usageFailure(message: string, ...advice: readonly string[]): CommandFailure {
  return new CommandFailure(message, { exitCode: EXIT.usage, advice });
}
