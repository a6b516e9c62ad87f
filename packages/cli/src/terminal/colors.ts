import pc from "picocolors";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns colours for standard output. They have no effect if it is not a terminal or NO_COLOR is set. */
export function outPaint(shell: {
  readonly env: Environment;
  readonly outColumns: number | undefined;
}): ReturnType<typeof pc.createColors> {
  return pc.createColors(wantsColor(shell.env, shell.outColumns !== undefined));
}

/**
 * Returns true if output shall have colours. NO_COLOR turns them off. FORCE_COLOR turns them on. Without both, they are
 * on for a terminal.
 */
export function wantsColor(env: Environment, isTerminal: boolean): boolean {
  if ((env.NO_COLOR ?? "") !== "") return false;
  if ((env.FORCE_COLOR ?? "") !== "" && env.FORCE_COLOR !== "0") return true;
  return isTerminal && env.TERM !== "dumb";
}
