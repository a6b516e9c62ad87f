import type { WorkerReport } from "./worker-functions.ts";

/** As many ids as are read at a glance stay on the line that says "Ready". */
const MAX_IDS_ON_ONE_LINE = 5;
/** Width of a line where nobody says how wide the terminal is, in characters. */
const DEFAULT_COLUMNS = 80;
const INDENT = "  ";

/** What a worker provides, e.g. `math::add (1 function)`; many ids follow their number on lines of their own, without a last line end. */
export function providedBy({ name, functions, trigger_types }: Pick<WorkerReport, "name" | "functions" | "trigger_types">, columns = DEFAULT_COLUMNS): string {
  const kinds = [
    { ids: functions, noun: "function" },
    { ids: trigger_types, noun: "trigger type" },
  ].filter(({ ids }) => ids.length > 0);
  if (kinds.length === 0) return name;
  const number = (ids: readonly string[], noun: string): string => `${ids.length} ${noun}${ids.length === 1 ? "" : "s"}`;
  if (functions.length + trigger_types.length <= MAX_IDS_ON_ONE_LINE) {
    return kinds.map(({ ids, noun }) => `${ids.join(", ")} (${number(ids, noun)})`).join(", ");
  }
  return [`${name}, ${kinds.map(({ ids, noun }) => number(ids, noun)).join(", ")}`, ...kinds.flatMap(({ ids }) => wrapped(ids, columns))].join("\n");
}

/** Ids with commas between them, on as few lines as they need; one that is wider than a line has a line of its own. */
function wrapped(ids: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const [index, id] of ids.entries()) {
    const item = index === ids.length - 1 ? id : `${id},`;
    const longer = line === "" ? `${INDENT}${item}` : `${line} ${item}`;
    if (line !== "" && longer.length > columns) {
      lines.push(line);
      line = `${INDENT}${item}`;
    } else line = longer;
  }
  return [...lines, line];
}
