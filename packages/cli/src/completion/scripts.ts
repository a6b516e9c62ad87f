import { readFile } from "node:fs/promises";
import { type CommandNode, everyCommand } from "../command-tree.ts";
import { placeOfArgument, placeOfValue } from "./places.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type ShellName = (typeof SHELLS)[number];

interface Syntax {
  readonly case: (path: string) => string;
  readonly list: (name: string, words: readonly string[]) => string;
  readonly end: string;
  readonly quote: (text: string) => string;
  /** Returns a word, with its description if the shell shows descriptions. */
  readonly described: (word: string, meaning: string) => string;
}

const single = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const posix = {
  case: (path: string) => `    ${single(path)})`,
  list: (name: string, words: readonly string[]) => `      ${name}=(${words.join(" ")})`,
  end: "      ;;",
  quote: single,
};

const SYNTAX: Readonly<Record<ShellName, Syntax>> = {
  bash: { ...posix, described: (word) => word },
  zsh: { ...posix, described: (word, meaning) => `${word}:${meaning}` },
  fish: {
    case: (path) => `        case ${single(path)}`,
    list: (name, words) => `            set -g ${name} ${words.join(" ")}`,
    end: "",
    quote: (text) => `'${text.replaceAll("\\", String.raw`\\`).replaceAll("'", String.raw`\'`)}'`,
    described: (word, meaning) => `${word}\t${meaning}`,
  },
};

/** Returns a script that completes all commands of the tree in one shell. */
export async function completionScript(shell: ShellName, root: CommandNode): Promise<string> {
  const frame = await readFile(new URL(`../../completions/svc.${shell}`, import.meta.url), "utf8");
  const commands = everyCommand(root).map((command) => commandCase(command, SYNTAX[shell]));
  return frame.replace("#COMMANDS#", () => commands.join("\n"));
}

function commandCase(command: CommandNode, syntax: Syntax): string {
  const { path, commands, options, arguments: args } = command;
  const words = {
    subs: commands.map(({ name, summary }) => syntax.described(name, summary)),
    flags: options.flatMap(({ names, description }) => names.map((name) => syntax.described(name, description))),
    // Options whose values cannot be completed are listed too, because the script must know that the next word is their
    // value.
    values: options.flatMap((option) => {
      const place = placeOfValue(option);
      return place === undefined ? [] : option.names.map((name) => `${name}=${place || "text"}`);
    }),
    places: args.map(({ name, isVariadic }) => `${placeOfArgument(command, name) || "text"}${isVariadic ? "..." : ""}`),
  };
  const lists = Object.entries(words).filter(([, list]) => list.length > 0);
  const lines = lists.map(([name, list]) => syntax.list(name, list.map(syntax.quote)));
  return [syntax.case(path), ...lines, ...(syntax.end === "" ? [] : [syntax.end])].join("\n");
}
