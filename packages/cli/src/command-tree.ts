import type { Command, Option } from "commander";

/** A command as its help tells of it, for what is generated from all of them. */
export interface CommandNode {
  /** As it is typed, e.g. `svc worker add`. */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly usage: string;
  readonly arguments: readonly ArgumentNode[];
  readonly options: readonly OptionNode[];
  /** What help shows below the options: examples first. */
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
  /** As help shows them, e.g. `-c, --config <file>`. */
  readonly flags: string;
  /** `--config` and `-c`. */
  readonly names: readonly string[];
  /** Name of the value that it takes, e.g. `file`; undefined for a switch. */
  readonly value?: string;
  readonly choices: readonly string[];
  readonly description: string;
  /** Undefined where there is none, or the description says it. */
  readonly defaultValue?: string;
}

/** The command with all below it. Commands that help hides are left out. */
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

/** Every command of the tree, each before those below it. */
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

/** Commander writes these texts behind the rest of the help, and gives them out in no other way. */
function textAfter(command: Command): string {
  const { writeOut } = command.configureOutput();
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => void parts.push(part) });
  command.outputHelp();
  if (writeOut !== undefined) command.configureOutput({ writeOut });
  return parts.join("").slice(command.helpInformation().length).trim();
}
