import { createContext, Script } from "node:vm";

/** Time limit for one portion of texts, in milliseconds. */
const LIMIT_MS = 100;
/** Maximum number of attempts per portion. */
const MAX_TRIES = 3;
/** Size of a portion, in characters. */
const PORTION_CHARACTERS = 1024 * 1024;
const MAX_CHARACTERS = 16 * 1024;

// Uses `vm`, because only its timeout can interrupt a regular expression.
const runner = new Script("run()");
const context: { run: () => void } = { run: () => {} };
createContext(context);

/** Compiles a case-insensitive expression. Throws SyntaxError if it is invalid. */
export function compileRegex(source: string): RegExp {
  try {
    return new RegExp(source, "iu");
  } catch {
    // Many common expressions are invalid in Unicode mode, so the expression is compiled without it.
    return new RegExp(source, "i");
  }
}

/**
 * Returns the items whose text matches. A malicious expression cannot block the thread: each portion of texts may take
 * 100 ms. After that, this throws the error that `refuse` makes.
 */
export function selectByRegex<T>(search: {
  readonly expression: RegExp;
  readonly things: readonly T[];
  readonly textOf: (thing: T) => string;
  readonly refuse: (message: string) => Error;
}): T[] {
  const { expression, things, textOf, refuse } = search;
  const found: T[] = [];
  for (let start = 0; start < things.length; ) {
    const end = portionEnd(things, start, textOf);
    let ofPortion: T[] = [];
    const isDone = withinTime(() => {
      ofPortion = [];
      for (const thing of things.slice(start, end))
        if (expression.test(textOf(thing).slice(0, MAX_CHARACTERS))) ofPortion.push(thing);
    });
    found.push(...ofPortion);
    if (!isDone)
      throw refuse("`regex`: takes too long; avoid nested repetitions, or narrow the search with other filters");
    start = end;
  }
  return found;
}

function portionEnd<T>(things: readonly T[], start: number, textOf: (thing: T) => string): number {
  let characters = 0;
  for (let index = start; index < things.length; index++) {
    characters += Math.min(MAX_CHARACTERS, textOf(things[index] as T).length);
    if (characters > PORTION_CHARACTERS) return index + 1;
  }
  return things.length;
}

/** Returns false on a timeout. If other processes used most of the time, the work is tried again. */
function withinTime(work: () => void): boolean {
  for (let tries = 1; ; tries += 1) {
    const before = process.cpuUsage();
    if (isDoneInTime(work)) return true;
    const { user, system } = process.cpuUsage(before);
    if (tries === MAX_TRIES || (user + system) / 1_000 > LIMIT_MS / 2) return false;
  }
}

function isDoneInTime(work: () => void): boolean {
  context.run = work;
  try {
    runner.runInContext(context, { timeout: LIMIT_MS });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    return false;
  } finally {
    context.run = () => {};
  }
}
