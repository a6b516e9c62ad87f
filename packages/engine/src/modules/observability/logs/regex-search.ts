import { createContext, Script } from "node:vm";
import { CallError } from "@svc/protocol";

/** Longest time for one portion of texts, in milliseconds, and how much is searched in it. */
const LIMIT_MS = 100;
const PORTION_CHARACTERS = 1024 * 1024;
/** Characters of a text that are searched. */
const MAX_CHARACTERS = 16 * 1024;

// Only this stops a regular expression: V8 asks the watchdog of a script between its steps.
const runner = new Script("run()");
const context: { run: () => void } = { run: () => {} };
createContext(context);

/** Throws `invalid_input` for what is no regular expression. */
export function compileRegex(source: string): RegExp {
  try {
    return new RegExp(source, "iu");
  } catch {
    // Many expressions that people write are none under the stricter rules.
  }
  try {
    return new RegExp(source, "i");
  } catch (error) {
    throw new CallError("invalid_input", `\`regex\`: is no regular expression: ${(error as Error).message}`);
  }
}

/**
 * Those things whose text the expression finds something in, case-blind. A hostile expression cannot hang whoever runs it: a portion of texts has 100 ms,
 * past which this throws `invalid_input`.
 */
export function selectByRegex<T>(expression: RegExp, things: readonly T[], textOf: (thing: T) => string): T[] {
  const found: T[] = [];
  for (let start = 0; start < things.length; ) {
    const end = portionEnd(things, start, textOf);
    withinTime(() => {
      for (const thing of things.slice(start, end)) if (expression.test(textOf(thing).slice(0, MAX_CHARACTERS))) found.push(thing);
    });
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

function withinTime(work: () => void): void {
  context.run = work;
  try {
    runner.runInContext(context, { timeout: LIMIT_MS });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    throw new CallError("invalid_input", "`regex`: takes too long to search by; leave out repetitions inside repetitions, or narrow the entries down before");
  } finally {
    context.run = () => {};
  }
}
