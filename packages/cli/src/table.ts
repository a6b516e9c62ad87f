import { escapeUnprintable } from "./log-lines.ts";

export interface TableOptions {
  /** Columns of the terminal; a wider table has its widest columns shortened to them. Undefined: nothing is shortened. */
  readonly columns?: number | undefined;
  /** Colours a cell that is padded already. */
  readonly style?: (cell: string, place: { readonly row: number; readonly head: string }) => string;
}

const GAP = "  ";
/** No column is shortened below this, in characters. */
const LEAST_WIDTH = 8;

/**
 * Rows as aligned columns below upper-case heads, two blanks apart. The last column is not padded. What would move the cursor or recolour the
 * terminal is escaped, since workers choose many of the values.
 */
export function table(heads: readonly string[], rows: readonly (readonly string[])[], { columns, style }: TableOptions = {}): string {
  const cells = rows.map((row) => heads.map((_, column) => escapeUnprintable(row[column] ?? "")));
  const natural = heads.map((head, column) => cells.reduce((widest, row) => Math.max(widest, (row[column] ?? "").length), head.length));
  const widths = columns === undefined ? natural : shrunk(natural, heads, columns);
  const line = (row: readonly string[], index: number): string =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        const text = clipped(cell, width);
        const padded = column === row.length - 1 ? text : text.padEnd(width);
        return style === undefined || index < 0 ? padded : style(padded, { row: index, head: heads[column] ?? "" });
      })
      .join(GAP)
      .trimEnd();
  return `${[line(heads, -1), ...cells.map(line)].join("\n")}\n`;
}

/** Takes from the widest column, again and again, until all fit or none can give more. */
function shrunk(natural: readonly number[], heads: readonly string[], columns: number): readonly number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - columns;
  while (excess > 0) {
    const spare = widths.map((width, column) => (width > Math.max(LEAST_WIDTH, heads[column]?.length ?? 0) ? width : 0));
    const widest = spare.indexOf(Math.max(...spare));
    if ((spare[widest] ?? 0) === 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

/** At most so many characters; one that is longer ends with "…". */
export function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}
