/** Exit status of `svc`. */
export const EXIT = {
  done: 0,
  /** The function or the command failed. */
  failed: 1,
  /** The command line is invalid. */
  usage: 2,
  /** No engine is reachable at the address. */
  noEngine: 3,
  /** A bug in svc. */
  internal: 70,
} as const;

/** Descriptions for the help and the reference. */
export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  [EXIT.done]: "done",
  [EXIT.failed]: "failed",
  [EXIT.usage]: "usage error",
  [EXIT.noEngine]: "no engine reachable",
  [EXIT.internal]: "internal error",
};

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface CommandFailureOptions {
  readonly exitCode?: ExitCode;
  /** How the user can fix the failure. Each entry is printed as a line below the message. */
  readonly advice?: readonly string[];
  readonly cause?: unknown;
}

/** A failure of a command that the user can fix. The message is shown to the user. The default exit status is 1. */
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

/** Creates a usage error (exit 2). */
export function usageFailure(message: string, ...advice: readonly string[]): CommandFailure {
  return new CommandFailure(message, { exitCode: EXIT.usage, advice });
}
