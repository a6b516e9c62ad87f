import { elementTexts, memberTexts } from "@svc/protocol/json-text";
import { Command } from "commander";
import { askEngine } from "../engine-request.ts";
import { formatJson, formatResult } from "../json-format.ts";
import type { Shell } from "../shell.ts";
import { nearestItem } from "../state-items.ts";
import { table } from "../table.ts";
import { ago, formatBytes } from "../times.ts";
import { allOptions, type EngineOptions, jsonOption, wholeNumber, withEngineOptions } from "./options.ts";

interface ListOptions extends EngineOptions {
  readonly prefix?: string;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: true;
}

/** `svc state list`: scopes, or the keys of one. */
export function stateListCommand(shell: Shell): Command {
  const command = new Command("list")
    .summary("list scopes, or the keys of a scope")
    .description("List the scopes that hold something. With a scope: its keys, with version and value.")
    .argument("[scope]", "scope whose keys to list")
    .option("--prefix <text>", "only names that begin with it")
    .option("--limit <n>", "how many at most, 1 to 1000", wholeNumber(1, 1_000), 100)
    .option("--cursor <cursor>", "where to go on: the cursor that a page before ended with")
    .addOption(jsonOption("print JSON, values to the digit"))
    .addHelpText("after", "\nExamples:\n  svc state list\n  svc state list users\n  svc state list users --prefix a --json | jq '.items[].key'\n");
  return withEngineOptions(command).action((scope: string | undefined, own: ListOptions) => list(shell, command, scope, allOptions(own, command)));
}

async function list(shell: Shell, command: Command, scope: string | undefined, options: ListOptions): Promise<void> {
  const { prefix, limit, cursor } = options;
  const payload = JSON.stringify({ scope, prefix, limit, cursor });
  const page = await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    const answer = await engine.callJson({ function_id: scope === undefined ? "state::groups" : "state::entries", payload });
    const isEmpty = (JSON.parse(answer) as Page).items.length === 0;
    if (isEmpty) shell.note(scope === undefined ? "No scope holds anything.\n" : `No key of ${scope} matches${await nearestItem(engine, { scope })}\n`);
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
    const rows = (items as readonly Group[]).map((group) => [group.scope, String(group.items), formatBytes(group.bytes)]);
    shell.out(table(["SCOPE", "ITEMS", "SIZE"], rows, { columns: shell.outColumns, whole: ["SCOPE"] }));
  } else {
    // The values as they are written, which JSON.parse would not keep to the digit.
    const values = elementTexts(memberTexts(json).get("items") ?? "[]").map((item) => formatJson(memberTexts(item).get("value") ?? "", "line"));
    const rows = (items as readonly Entry[]).map(({ key, version, updated_at }, index) => [
      key,
      String(version),
      ago(Date.parse(updated_at)),
      values[index] ?? "",
    ]);
    shell.out(table(["KEY", "VERSION", "CHANGED", "VALUE"], rows, { columns: shell.outColumns, whole: ["KEY"] }));
  }
  if (cursor !== null) shell.note(shell.paint.dim(`${items.length} of ${total} are shown; the next ones: --cursor ${cursor}\n`));
}
