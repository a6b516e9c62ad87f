import type { Worker } from "@svc-runtime/sdk";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { nearestItem } from "../state-items.ts";
import { confirm } from "../terminal/confirm.ts";
import { say } from "../terminal/notes.ts";
import { allOptions, type EngineOptions, jsonOption, wholeNumber, withEngineOptions } from "./options.ts";

interface DeleteOptions extends EngineOptions {
  readonly prefix?: string;
  readonly ifVersion?: number;
  readonly yes?: true;
  readonly json?: true;
}

/** `svc state delete`: deletes keys by name or by prefix. */
export function stateDeleteCommand(shell: Shell): Command {
  const command = new Command("delete")
    .summary("delete keys of a scope")
    .description("Delete keys of a scope, or all keys with a prefix. Exits with 1 if none of the given keys exists.")
    .argument("<scope>", "scope of the keys")
    .argument("[keys...]", "keys to delete")
    .option("--prefix <text>", 'delete every key with this prefix; "" empties the scope. Asks for confirmation')
    .option(
      "--if-version <n>",
      "delete a single key only if its item has this version",
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    )
    .option("-y, --yes", "do not ask for confirmation")
    .addOption(jsonOption("print the number of deleted keys as JSON"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc state delete math running_total\n  svc state delete sessions a b c\n  svc state delete sessions --prefix tmp- --yes\n",
    );
  return withEngineOptions(command).action((scope: string, keys: readonly string[], own: DeleteOptions) =>
    deleteKeys(shell, command, { scope, keys, options: allOptions(own, command) }),
  );
}

interface Delete {
  readonly scope: string;
  readonly keys: readonly string[];
  readonly options: DeleteOptions;
}

async function deleteKeys(shell: Shell, command: Command, { scope, keys, options }: Delete): Promise<void> {
  const { prefix, ifVersion, yes } = options;
  if ((keys.length === 0) === (prefix === undefined))
    throw usageFailure("Give either the keys to delete or --prefix.", "See: svc state delete --help");
  if (ifVersion !== undefined && keys.length !== 1) throw usageFailure("--if-version needs exactly one key.");
  if (prefix !== undefined && yes === undefined && shell.ask === undefined)
    throw usageFailure(
      `Deleting ${keysWith(scope, prefix)} needs a confirmation, and there is no terminal to ask on; pass --yes to confirm.`,
    );
  const deleted = await askEngine(shell, { command, options, access: "changes" }, async (engine) => {
    const [key = ""] = keys;
    if (ifVersion !== undefined) {
      await engine.call({ function_id: "state::delete", payload: { scope, key, if_version: ifVersion } });
      return 1;
    }
    if (prefix !== undefined && !(await confirmPrefix(shell, engine, { scope, prefix, yes }))) return 0;
    const payload = prefix === undefined ? { scope, keys } : { scope, prefix };
    const answer = await engine.call<{ readonly deleted: number }>({ function_id: "state::delete_many", payload });
    if (answer.deleted > 0 || prefix !== undefined) return answer.deleted;
    const hint = await nearestItem(engine, { scope, key: keys.length === 1 ? key : undefined });
    throw new CommandFailure(
      keys.length === 1 ? `${scope}/${key} not found${hint}` : `None of these keys of ${scope} exists${hint}`,
    );
  });
  if (options.json) shell.out(`${JSON.stringify({ deleted })}\n`);
  if (deleted === 0 && prefix !== undefined) {
    say(
      shell,
      `There is no ${prefix === "" ? `key in ${scope}` : `key of ${scope} with the prefix ${prefix}`}; nothing was deleted.`,
    );
    return;
  }
  shell.note(
    `${shell.paint.green("Deleted")} ${deleted === 1 && keys.length === 1 ? `${scope}/${keys[0]}` : `${deleted} of ${prefix === undefined ? keys.length : scope}`}\n`,
  );
}

interface Prefixed {
  readonly scope: string;
  readonly prefix: string;
  readonly yes: true | undefined;
}

/** Asks for confirmation with the number of matching keys. Returns false if there are none. */
async function confirmPrefix(shell: Shell, engine: Worker, { scope, prefix, yes }: Prefixed): Promise<boolean> {
  if (yes) return true;
  const { total } = await engine.call<{ readonly total: number }>({
    function_id: "state::entries",
    payload: { scope, prefix, limit: 1 },
  });
  if (total === 0) return false;
  await confirm(shell, `Delete ${total} key${total === 1 ? "" : "s"}, ${keysWith(scope, prefix)}?`, { yes });
  return true;
}

function keysWith(scope: string, prefix: string): string {
  return prefix === "" ? `every key of ${scope}` : `every key of ${scope} with the prefix ${prefix}`;
}
