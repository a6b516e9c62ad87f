import type { Command, Option } from "commander";

/** A command as its help describes it. Used to generate docs and completions. */
export interface CommandNode {
  /** Command as typed, e.g. `svc worker add`. */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly usage: string;
  readonly arguments: readonly ArgumentNode[];
  readonly options: readonly OptionNode[];
  /** Help text below the options, examples first. */
  readonly after: string;
  readonly commands: readonly CommandNode[];
}

export interface ArgumentNode {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly isVariadic: boolean;
}

export interface OptionNode {
  /** Names and value as shown in help, e.g. `-c, --config <file>`. */
  readonly flags: string;
  /** Names of the option, e.g. `--config` and `-c`. */
  readonly names: readonly string[];
  /** Name of the option's value, e.g. `file`. Undefined for a switch. */
  readonly value?: string;
  readonly choices: readonly string[];
  readonly description: string;
  /** Default of the option's value. Undefined if the option has no default, or if the description states it. */
  readonly defaultValue?: string;
}

/** Returns the command with all its subcommands, except hidden ones. */
export function commandTree(command: Command): CommandNode {
  const help = command.createHelp();
  return {
    path: [...ancestorsOf(command), command].map((each) => each.name()).join(" "),
    name: command.name(),
    summary: command.summary(),
    description: command.description(),
    usage: help.commandUsage(command),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: argument.description,
      isRequired: argument.required,
      isVariadic: argument.variadic,
    })),
    options: help.visibleOptions(command).map(optionNode),
    after: textAfter(command),
    commands: help
      .visibleCommands(command)
      .filter((child) => child.name() !== "help")
      .map(commandTree),
  };
}

/** Returns all commands of the tree, each before its subcommands. */
export function everyCommand(root: CommandNode): readonly CommandNode[] {
  return [root, ...root.commands.flatMap(everyCommand)];
}

function ancestorsOf(command: Command): readonly Command[] {
  return command.parent === null ? [] : [...ancestorsOf(command.parent), command.parent];
}

function optionNode(option: Option): OptionNode {
  const [, value] = /[<[](.+?)(?:\.\.\.)?[>\]]/.exec(option.flags) ?? [];
  return {
    flags: option.flags,
    names: [option.long, option.short].filter((name) => name !== undefined && name !== null),
    ...(value === undefined ? {} : { value }),
    choices: option.argChoices ?? [],
    description: option.description,
    ...(value === undefined || option.defaultValue === undefined ? {} : { defaultValue: String(option.defaultValue) }),
  };
}

/** Returns the text that Commander prints after the rest of the help. There is no other access to this text. */
function textAfter(command: Command): string {
  const { writeOut } = command.configureOutput();
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => void parts.push(part) });
  command.outputHelp();
  if (writeOut !== undefined) command.configureOutput({ writeOut });
  return parts.join("").slice(command.helpInformation().length).trim();
}
