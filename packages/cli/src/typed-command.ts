import { quoteWord } from "@svc-runtime/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import { pathOf } from "./commands/unknown-command.ts";

/** Returns a command with its options as words. Advice for the user repeats the command with one option changed. */
export function typedWords(command: Command): readonly string[] {
  const words = command.options.filter(({ hidden }) => !hidden).flatMap((option) => wordsOf(command, option));
  return [...pathOf(command).split(" "), ...words];
}

/** Returns the command with one option set to another value. */
export function retyped(words: readonly string[], flag: string, value: string | number): string {
  const at = words.indexOf(flag);
  const kept = at === -1 ? words : [...words.slice(0, at), ...words.slice(at + 2)];
  return [...kept, flag, String(value)].map(quoteWord).join(" ");
}

/**
 * Returns the words of one option. An option that the program has too may stand before the command, so both are
 * checked.
 */
function wordsOf(command: Command, option: Option): readonly string[] {
  const name = option.attributeName();
  const giver = [command, command.parent].find((one) => one?.getOptionValueSource(name) === "cli");
  const value: unknown = giver?.getOptionValue(name);
  if (value === undefined || value === !!option.negate) return [];
  const flag = option.long ?? option.short ?? "";
  return typeof value === "string" || typeof value === "number" ? [flag, String(value)] : [flag];
}

/** Option for the child processes of `svc dev`. Its value is the user's command as JSON, which is shown in advice. */
export function askedAsOption(): Option {
  return new Option("--asked-as <words>", "command to show in advice").argParser(parseWords).hideHelp();
}

function parseWords(text: string): readonly string[] {
  try {
    const words: unknown = JSON.parse(text);
    if (Array.isArray(words) && words.every((word) => typeof word === "string")) return words;
  } catch {
    // Ignored: the error below is thrown.
  }
  throw new InvalidArgumentError("Expected a JSON array of words.");
}
