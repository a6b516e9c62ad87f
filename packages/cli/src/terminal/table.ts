import { escapeUnprintable } from "../logs/log-lines.ts";
import { clipped, padded, widest } from "./text-width.ts";
import { wrapped } from "./word-wrap.ts";

export interface TableOptions {
  /**
   * Columns of the terminal. If the table is wider, its widest columns are shortened. Undefined: nothing is shortened.
   */
  readonly columns?: number | undefined;
  /** Headings of columns that are never shortened, e.g. names, ids and states. */
  readonly whole?: readonly string[];
  /** Headings of columns that are shortened first. They are omitted if shortening is not enough. */
  readonly first?: readonly string[];
  /** Heading of the column that is printed below each row if the table does not fit. */
  readonly below?: string;
  /** Returns a cell with colours. The cell is already padded. */
  readonly style?: (cell: string, place: { readonly row: number; readonly head: string }) => string;
}

const GAP = "  ";
/** Minimum width of a shortened column. */
const MIN_WIDTH = 8;

/**
 * Formats rows as aligned columns below upper-case headings. Control characters are escaped, because workers choose
 * many of the values.
 */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  options: TableOptions = {},
): string {
  const { columns, style } = options;
  const all = heads.map((head, column) => columnOf(head, column, rows));
  const isNarrow = columns !== undefined && widthOf(all) > columns;
  const lower = isNarrow ? all.find(({ head }) => head === options.below) : undefined;
  const upper = all.filter((column) => column !== lower);
  const shown = isNarrow ? fitted(upper, columns, options) : upper;
  const line = (row: number): string =>
    shown
      .map(({ head, cells, width }, index) => {
        const text = clipped(row < 0 ? head : (cells[row] ?? ""), width);
        const cell = index === shown.length - 1 ? text : padded(text, width);
        return style === undefined || row < 0 ? cell : style(cell, { row, head });
      })
      .join(GAP)
      .trimEnd();
  const lines = rows.flatMap((_, row) => [line(row), ...linesBelow(lower?.cells[row] ?? "", columns)]);
  return `${[line(-1), ...lines].join("\n")}\n`;
}

interface Column {
  readonly head: string;
  readonly cells: readonly string[];
  readonly width: number;
}

function columnOf(head: string, column: number, rows: readonly (readonly string[])[]): Column {
  const cells = rows.map((row) => escapeUnprintable(row[column] ?? ""));
  return { head, cells, width: widest([head, ...cells]) };
}

function widthOf(columns: readonly Column[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0) + GAP.length * (columns.length - 1);
}

/**
 * Shortens the `first` columns, then the others, beginning with the widest. If that is not enough, omits `first`
 * columns.
 */
function fitted(all: readonly Column[], columns: number, { whole = [], first = [] }: TableOptions): readonly Column[] {
  const shortened = narrowed(
    narrowed(all, columns, ({ head }) => first.includes(head)),
    columns,
    ({ head }) => !whole.includes(head),
  );
  let kept = shortened;
  for (const head of first) if (widthOf(kept) > columns) kept = kept.filter((column) => column.head !== head);
  // Widen the remaining columns, because omitting a column may free more space than needed.
  return kept.length === shortened.length ? kept : widened(kept, all, columns);
}

/** Shortens the widest of the columns that may shrink, step by step, until all columns fit. */
function narrowed(all: readonly Column[], columns: number, canShrink: (column: Column) => boolean): readonly Column[] {
  const result = [...all];
  for (let excess = widthOf(all) - columns; excess > 0; excess -= 1) {
    const spare = result.map((column) =>
      canShrink(column) && column.width > Math.max(MIN_WIDTH, column.head.length) ? column.width : 0,
    );
    const at = spare.indexOf(Math.max(...spare));
    const column = result[at];
    if (column === undefined || (spare[at] ?? 0) === 0) break;
    result[at] = { ...column, width: column.width - 1 };
  }
  return result;
}

/** Distributes the free space to columns that were shortened. */
function widened(kept: readonly Column[], all: readonly Column[], columns: number): readonly Column[] {
  let room = columns - widthOf(kept);
  return kept.map((column) => {
    const natural = all.find(({ head }) => head === column.head)?.width ?? column.width;
    const more = Math.max(0, Math.min(room, natural - column.width));
    room -= more;
    return { ...column, width: column.width + more };
  });
}

const INDENT = "    ";
/** Maximum number of lines below a row. `--json` prints everything. */
const LINES_BELOW = 3;

function linesBelow(text: string, columns: number | undefined): readonly string[] {
  if (text === "" || columns === undefined) return [];
  const width = Math.max(MIN_WIDTH, columns - INDENT.length);
  const lines = wrapped(text, width);
  const shown = lines.slice(0, LINES_BELOW).map((line) => clipped(line, width));
  const last = shown.length - 1;
  return shown.map(
    (line, index) => `${INDENT}${index === last && lines.length > LINES_BELOW ? clipped(`${line} …`, width) : line}`,
  );
}
