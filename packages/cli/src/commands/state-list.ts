import { elementTexts, memberTexts } from "@svc-runtime/protocol/json-text";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import type { Shell } from "../shell.ts";
import { nearestItem } from "../state-items.ts";
import { formatBytes } from "../terminal/format-bytes.ts";
import { formatJson, formatResult } from "../terminal/json-format.ts";
import { table } from "../terminal/table.ts";
import { ago } from "../terminal/times.ts";
import { allOptions, type EngineOptions, jsonOption, limitOption, withEngineOptions } from "./options.ts";

interface ListOptions extends EngineOptions {
  readonly prefix?: string;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: true;
}

/** `svc state list`: lists scopes, or the keys of one scope. */
export function stateListCommand(shell: Shell): Command {
  const command = new Command("list")
    .summary("list scopes, or the keys of a scope")
    .description("List the scopes that have keys. With a scope, list its keys with version and value.")
    .argument("[scope]", "scope whose keys to list")
    .option("--prefix <text>", "only names with this prefix")
    .addOption(limitOption("scopes or keys", 100))
    .option("--cursor <cursor>", "where to continue: the cursor at the end of the previous page")
    .addOption(jsonOption("print JSON with exact numbers"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc state list\n  svc state list users\n  svc state list users --prefix a --json | jq '.items[].key'\n",
    );
  return withEngineOptions(command).action((scope: string | undefined, own: ListOptions) =>
    list(shell, command, scope, allOptions(own, command)),
  );
}

async function list(shell: Shell, command: Command, scope: string | undefined, options: ListOptions): Promise<void> {
  const { prefix, limit, cursor } = options;
  const payload = JSON.stringify({ scope, prefix, limit, cursor });
  const page = await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    const answer = await engine.callJson({
      function_id: scope === undefined ? "state::groups" : "state::entries",
      payload,
    });
    const isEmpty = (JSON.parse(answer) as Page).items.length === 0;
    if (isEmpty)
      shell.note(
        scope === undefined
          ? "There are no scopes.\n"
          : `No key of ${scope} matches${await nearestItem(engine, { scope })}\n`,
      );
    return answer;
  });
  if (options.json) shell.out(`${formatResult(page, shell.outColumns)}\n`);
  else print(shell, page, scope);
}

interface Page {
  readonly items: readonly unknown[];
  readonly cursor: string | null;
  readonly total: number;
}

interface Group {
  readonly scope: string;
  readonly items: number;
  readonly bytes: number;
}

interface Entry {
  readonly key: string;
  readonly version: number;
  readonly updated_at: string;
}

function print(shell: Shell, json: string, scope: string | undefined): void {
  const { items, cursor, total } = JSON.parse(json) as Page;
  if (items.length === 0) return;
  if (scope === undefined) {
    const rows = (items as readonly Group[]).map((group) => [
      group.scope,
      String(group.items),
      formatBytes(group.bytes),
    ]);
    shell.out(table(["SCOPE", "ITEMS", "SIZE"], rows, { columns: shell.outColumns, whole: ["SCOPE"] }));
  } else {
    // Reads the values from the text, because JSON.parse would round large numbers.
    const values = elementTexts(memberTexts(json).get("items") ?? "[]").map((item) =>
      formatJson(memberTexts(item).get("value") ?? "", "line"),
    );
    const rows = (items as readonly Entry[]).map(({ key, version, updated_at }, index) => [
      key,
      String(version),
      ago(Date.parse(updated_at)),
      values[index] ?? "",
    ]);
    shell.out(table(["KEY", "VERSION", "CHANGED", "VALUE"], rows, { columns: shell.outColumns, whole: ["KEY"] }));
  }
  if (cursor !== null)
    shell.note(shell.paint.dim(`${items.length} of ${total} shown; next page: --cursor ${cursor}\n`));
}
