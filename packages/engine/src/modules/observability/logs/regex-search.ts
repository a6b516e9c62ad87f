import { createContext, Script } from "node:vm";

/** Longest time for one portion of texts, in milliseconds, and how much is searched in it. */
const LIMIT_MS = 100;
const PORTION_CHARACTERS = 1024 * 1024;
/** Characters of a text that are searched. */
const MAX_CHARACTERS = 16 * 1024;

// Only this stops a regular expression: V8 asks the watchdog of a script between its steps.
const runner = new Script("run()");
const context: { run: () => void } = { run: () => {} };
createContext(context);

/** Case-blind. Throws SyntaxError for what is no regular expression. */
export function compileRegex(source: string): RegExp {
  try {
    return new RegExp(source, "iu");
  } catch {
    // Many expressions that people write are none under the stricter rules.
    return new RegExp(source, "i");
  }
}

/**
 * Those things whose text the expression finds something in. A hostile expression cannot hang whoever runs it: a portion of texts has 100 ms,
 * past which this throws what `refuse` makes.
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
    const isDone = withinTime(() => {
      for (const thing of things.slice(start, end)) if (expression.test(textOf(thing).slice(0, MAX_CHARACTERS))) found.push(thing);
    });
    if (!isDone) throw refuse("`regex`: takes too long to search by; leave out repetitions inside repetitions, or narrow the entries down before");
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

/** False when it took too long. */
function withinTime(work: () => void): boolean {
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
