import { Argument, Command } from "commander";
import { commandTree } from "../command-tree.ts";
import { completionScript, SHELLS, type ShellName } from "../completion/scripts.ts";
import type { Shell } from "../shell.ts";

/** `svc completion`: prints a script that completes commands, options and names. */
export function completionCommand(shell: Shell): Command {
  const command = new Command("completion");
  return command
    .summary("print a shell completion script")
    .description(
      "Print a completion script for a shell. It completes commands, options, files and names from the running engine: functions, workers, queues, scopes, topics. Load it from the shell's startup file.",
    )
    .addArgument(new Argument("<shell>", "shell to complete in").choices(SHELLS))
    .addHelpText(
      "after",
      "\nExamples:\n  echo 'source <(svc completion bash)' >> ~/.bashrc\n  echo 'source <(svc completion zsh)' >> ~/.zshrc    (below compinit)\n  svc completion fish > ~/.config/fish/completions/svc.fish\n",
    )
    .action(async (name: ShellName) => {
      const program = command.parent ?? command;
      shell.out(await completionScript(name, commandTree(program)));
    });
}
