import { elementTexts, memberTexts } from "@svc-runtime/protocol/json-text";
import { readStateQuery, STATE_FIELDS } from "@svc-runtime/protocol/query";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import type { Shell } from "../shell.ts";
import { nearestItem } from "../state-items.ts";
import { formatBytes } from "../terminal/format-bytes.ts";
import { formatJson, formatResult } from "../terminal/json-format.ts";
import { table } from "../terminal/table.ts";
import { ago } from "../terminal/times.ts";
import { allOptions, type EngineOptions, jsonOption, limitOption, withEngineOptions } from "./options.ts";
import { queryHelp, queryOption } from "./query-option.ts";

interface ListOptions extends EngineOptions {
  readonly prefix?: string;
  readonly query?: string;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: true;
}

/** `svc state list`: lists scopes, or the keys of one scope. */
export function stateListCommand(shell: Shell): Command {
  const command = new Command("list")
    .summary("list scopes, the keys of a scope, or what matches a query")
    .description(
      "List the scopes that have keys. With a scope, list its keys with version and value. With --query, list the matching keys of all scopes, or of the scope.",
    )
    .argument("[scope]", "scope whose keys to list")
    .option("--prefix <text>", "only names with this prefix")
    .addOption(queryOption("keys", readStateQuery))
    .addOption(limitOption("scopes or keys", 100))
    .option("--cursor <cursor>", "where to continue: the cursor at the end of the previous page")
    .addOption(jsonOption("print JSON with exact numbers"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc state list\n  svc state list users\n  svc state list users --prefix a --json | jq '.items[].key'\n  svc state list --query 'scope:orders and value.status:failed'\n",
    )
    .addHelpText("after", queryHelp(STATE_FIELDS, undefined));
  return withEngineOptions(command).action((scope: string | undefined, own: ListOptions) =>
    list(shell, command, scope, allOptions(own, command)),
  );
}

async function list(shell: Shell, command: Command, scope: string | undefined, options: ListOptions): Promise<void> {
  const { prefix, query, limit, cursor } = options;
  if (query !== undefined) return listMatching(shell, command, scope, { ...options, query });
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

/** Maximum number of requests of one command. Each request reads up to 10,000 items. */
const MAX_REQUESTS = 100;

/** Lists items that match a query. A response without items is not the end: further responses may have some. */
async function listMatching(
  shell: Shell,
  command: Command,
  scope: string | undefined,
  options: ListOptions & { readonly query: string },
): Promise<void> {
  const { prefix, query, limit } = options;
  const items: string[] = [];
  const cursor = await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    let next: string | null = options.cursor ?? null;
    for (let requests = 0; requests < MAX_REQUESTS; requests++) {
      const payload = JSON.stringify({ query, scope, prefix, limit: limit - items.length, cursor: next });
      const members = memberTexts(await engine.callJson({ function_id: "state::query", payload }));
      items.push(...elementTexts(members.get("items") ?? "[]"));
      next = JSON.parse(members.get("cursor") ?? "null") as string | null;
      if (next === null || items.length >= limit) break;
    }
    return next;
  });
  if (options.json)
    shell.out(
      `${formatResult(`{"items":[${items.join(",")}],"cursor":${JSON.stringify(cursor)}}`, shell.outColumns)}\n`,
    );
  else if (items.length === 0) shell.note(`No key${scope === undefined ? "" : ` of ${scope}`} matches.\n`);
  else {
    const rows = items.map((item) => {
      const entry = JSON.parse(item) as Entry & { readonly scope: string };
      return [entry.scope, ...cellsOf(entry, item)];
    });
    shell.out(
      table(["SCOPE", "KEY", "VERSION", "CHANGED", "VALUE"], rows, {
        columns: shell.outColumns,
        whole: ["SCOPE", "KEY"],
      }),
    );
  }
  if (!options.json && cursor !== null)
    shell.note(shell.paint.dim(`More keys may match; next page: --cursor ${cursor}\n`));
}

/** Returns the cells of a row. The value is taken from the text, because JSON.parse would round large numbers. */
function cellsOf({ key, version, updated_at }: Entry, json: string): readonly string[] {
  const value = formatJson(memberTexts(json).get("value") ?? "", "line");
  return [key, String(version), ago(Date.parse(updated_at)), value];
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
    const texts = elementTexts(memberTexts(json).get("items") ?? "[]");
    const rows = (items as readonly Entry[]).map((entry, index) => cellsOf(entry, texts[index] ?? "{}"));
    shell.out(table(["KEY", "VERSION", "CHANGED", "VALUE"], rows, { columns: shell.outColumns, whole: ["KEY"] }));
  }
  if (cursor !== null)
    shell.note(shell.paint.dim(`${items.length} of ${total} shown; next page: --cursor ${cursor}\n`));
}
