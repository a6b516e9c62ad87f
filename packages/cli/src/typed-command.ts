import { quoteWord } from "@svc/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import { pathOf } from "./commands/unknown-command.ts";

/** A command and the options that were given with it, so that it can be told again with one of them changed. */
export function typedWords(command: Command): readonly string[] {
  const words = command.options.filter(({ hidden }) => !hidden).flatMap((option) => wordsOf(command, option));
  return [...pathOf(command).split(" "), ...words];
}

/** As it is typed, with one option given another value; whatever else was given stays. */
export function retyped(words: readonly string[], flag: string, value: string | number): string {
  const at = words.indexOf(flag);
  const kept = at === -1 ? words : [...words.slice(0, at), ...words.slice(at + 2)];
  return [...kept, flag, String(value)].map(quoteWord).join(" ");
}

/** Some options are also the program's, where they may stand before the command. */
function wordsOf(command: Command, option: Option): readonly string[] {
  const name = option.attributeName();
  const giver = [command, command.parent].find((one) => one?.getOptionValueSource(name) === "cli");
  const value: unknown = giver?.getOptionValue(name);
  if (value === undefined || value === !!option.negate) return [];
  const flag = option.long ?? option.short ?? "";
  return typeof value === "string" || typeof value === "number" ? [flag, String(value)] : [flag];
}

/** For `svc dev`, whose children tell what to type: the words of its own command, as JSON. */
export function askedAsOption(): Option {
  return new Option("--asked-as <words>", "the command to name in advice").argParser(parseWords).hideHelp();
}

function parseWords(text: string): readonly string[] {
  try {
    const words: unknown = JSON.parse(text);
    if (Array.isArray(words) && words.every((word) => typeof word === "string")) return words;
  } catch {
    // Told below.
  }
  throw new InvalidArgumentError("It takes a JSON array of words.");
}
