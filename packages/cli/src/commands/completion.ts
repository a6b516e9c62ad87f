import { Argument, Command } from "commander";
import { commandTree } from "../command-tree.ts";
import { completionScript, SHELLS, type ShellName } from "../completion/scripts.ts";
import type { Shell } from "../shell.ts";

/** `svc completion`: completes commands, options and names at Tab. */
export function completionCommand(shell: Shell): Command {
  const command = new Command("completion");
  return command
    .summary("print a script that completes svc's commands at Tab")
    .description(
      "Print a script for a shell that completes commands, options, files, and the names that the running engine knows: functions, workers, queues, scopes, topics. Load it from the start-up file of the shell.",
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
