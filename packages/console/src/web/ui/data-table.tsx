import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type KeyboardEvent, type ReactNode, Suspense, useEffect, useRef } from "react";
import { lazyExtra } from "../lib/lazy-extra.ts";
import { columnsToDraw, useSavedColumns } from "../lib/saved-columns.ts";
import { cn } from "./cn.ts";
import { useNewRows } from "./use-new-rows.ts";
import { useWidth } from "./use-width.ts";

/** The code of the menu is loaded after the table. */
const ColumnsButton = lazyExtra(() => import("./columns-button.tsx"));

export interface Column<Row> {
  readonly key: string;
  readonly header: string;
  /** True if only screen readers see the header, for example that of a column of check boxes. */
  readonly headerHidden?: boolean;
  /** Width in the grid, e.g. `minmax(12rem,2fr)`, `6rem`. */
  readonly width: string;
  readonly align?: "right";
  readonly sortable?: boolean;
  /** The column is hidden if the table is narrower than this, in pixels. */
  readonly from?: number;
  cell(row: Row): ReactNode;
}

export interface Sort {
  readonly key: string;
  readonly dir: "asc" | "desc";
}

export interface DataTableProps<Row> {
  readonly label: string;
  /** Name under which the browser stores the shown columns of the table. Defaults to the label. */
  readonly id?: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  readonly selectedId?: string | undefined;
  readonly onSelect?: ((row: Row) => void) | undefined;
  /**
   * Called on a click, or on Enter in the selected row. It is for rows that open another page, so that arrow keys only
   * move. Without it, a click selects the row.
   */
  readonly onOpen?: ((row: Row) => void) | undefined;
  readonly sort?: Sort | undefined;
  readonly onSort?: ((sort: Sort) => void) | undefined;
  /** Total number of rows. It is given if `rows` contains only a part of them. */
  readonly total?: number | undefined;
  readonly rowClass?: ((row: Row) => string | undefined) | undefined;
  /** Called when the list is scrolled to its first row, or away from it. */
  readonly onTop?: ((isAtTop: boolean) => void) | undefined;
  /** Called when the last rows become visible. */
  readonly onEnd?: (() => void) | undefined;
  /**
   * Returns the heading if the row is the heading of a section. Returns undefined for other rows. The keyboard skips
   * headings.
   */
  readonly headingOf?: ((row: Row) => ReactNode | undefined) | undefined;
  readonly footer?: ReactNode;
}

const OVERSCAN = 12;
/** Height of the header in pixels. */
const HEADER = 30;
/** Minimum width of a table with a menu of its columns, in pixels. */
const MENU_WIDTH = 480;

/**
 * A virtualized list of rows. The arrow keys, j and k, Home, End and the Page keys move the selection; Enter opens a
 * row. The height of rows depends on the density.
 */
export function DataTable<Row>({
  label,
  id = label,
  columns,
  rows,
  idOf,
  selectedId,
  onSelect,
  onOpen,
  sort,
  onSort,
  total,
  rowClass,
  onTop,
  onEnd,
  headingOf,
  footer,
}: DataTableProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller);
  const rowHeight = document.documentElement.dataset.density === "compact" ? 24 : 32;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    // The header covers a part of the area that the virtualizer considers visible.
    scrollPaddingEnd: HEADER,
    getItemKey: (at) => idOf(rows[at] as Row),
  });
  const drawn = virtualizer.getVirtualItems();
  const lastDrawn = drawn.at(-1)?.index ?? -1;
  useEffect(() => {
    if (lastDrawn >= rows.length - OVERSCAN) onEnd?.();
  }, [lastDrawn, rows.length, onEnd]);
  const [chosen, choose] = useSavedColumns(id);
  const shown = columnsToDraw(columns, chosen, width);
  const choosable = columns.filter(({ headerHidden }) => headerHidden !== true);
  const hasMenu = width >= MENU_WIDTH && choosable.length > 1;
  const template = { gridTemplateColumns: shown.map((column) => column.width).join(" ") };
  const selectedAt = rows.findIndex((row) => idOf(row) === selectedId);

  // The table also scrolls when the detail opens beside or below it, because that makes the table smaller.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new selection moves the list
  useEffect(() => {
    if (selectedAt >= 0) virtualizer.scrollToIndex(selectedAt, { align: "auto" });
  }, [selectedId, selectedAt >= 0]);
  const isNew = useNewRows(rows, idOf, onEnd !== undefined);

  const isItem = (at: number): boolean => rows[at] !== undefined && headingOf?.(rows[at]) === undefined;
  const moveTo = (wanted: number): void => {
    let at = Math.min(Math.max(wanted, 0), rows.length - 1);
    const step = wanted < selectedAt ? -1 : 1;
    while (at >= 0 && at < rows.length && !isItem(at)) at += step;
    const row = isItem(at) ? rows[at] : undefined;
    if (row === undefined) return;
    onSelect?.(row);
    virtualizer.scrollToIndex(rows.indexOf(row), { align: "auto" });
  };
  const onClick = onOpen ?? onSelect;
  const onKeyDown = (event: KeyboardEvent): void => {
    const selected = rows[selectedAt];
    if (
      event.key === "Enter" &&
      event.target === event.currentTarget &&
      onOpen !== undefined &&
      selected !== undefined
    ) {
      event.preventDefault();
      onOpen(selected);
      return;
    }
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 320) / rowHeight) - 2);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: selectedAt + 1,
      j: selectedAt + 1,
      ArrowUp: selectedAt - 1,
      k: selectedAt - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: selectedAt + page,
      PageUp: selectedAt - page,
    };
    const to = moves[event.key];
    if (to === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    moveTo(to);
  };

  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      {/* biome-ignore lint/a11y/useSemanticElements: a table cannot be drawn in part; the roles say what a table would */}
      <div
        role="grid"
        aria-label={label}
        aria-rowcount={(total ?? rows.length) + 1}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onScroll={onTop === undefined ? undefined : (event) => onTop(event.currentTarget.scrollTop < rowHeight / 2)}
        ref={scroller}
        className="relative min-h-0 flex-1 overflow-auto outline-offset-[-2px]"
      >
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
        <div
          role="row"
          aria-rowindex={1}
          className={cn(
            "sticky top-0 z-10 grid min-w-full items-center gap-x-3 border-line border-b bg-surface px-4 font-medium text-[12px] text-ink-3",
            hasMenu && "pr-10",
          )}
          style={{ ...template, height: HEADER }}
        >
          {shown.map((column) => (
            <HeaderCell key={column.key} column={column} sort={sort} onSort={onSort} />
          ))}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div role="rowgroup" className="relative" style={{ height: virtualizer.getTotalSize() }}>
          {drawn.map((item) => {
            const row = rows[item.index] as Row;
            const isSelected = idOf(row) === selectedId;
            const heading = headingOf?.(row);
            if (heading !== undefined) {
              return (
                // biome-ignore lint/a11y/useSemanticElements: see above
                // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
                <div
                  key={item.key}
                  role="row"
                  aria-rowindex={item.index + 2}
                  className="absolute left-0 flex w-full items-center border-line/60 border-b bg-raised px-4"
                  style={{ height: rowHeight, transform: `translateY(${item.start}px)` }}
                >
                  {/* biome-ignore lint/a11y/useSemanticElements: see above */}
                  {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
                  <div role="gridcell" aria-colspan={shown.length} className="flex min-w-0 flex-1 items-center">
                    {heading}
                  </div>
                </div>
              );
            }
            return (
              // biome-ignore lint/a11y/useSemanticElements: see above
              // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
              // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys
              <div
                key={item.key}
                role="row"
                aria-rowindex={item.index + 2}
                aria-selected={onSelect === undefined ? undefined : isSelected}
                onClick={onClick === undefined ? undefined : () => onClick(row)}
                className={cn(
                  "absolute left-0 grid w-full items-center gap-x-3 border-line/60 border-b px-4",
                  hasMenu && "pr-10",
                  onClick !== undefined && "cursor-pointer hover:bg-hover",
                  rowClass?.(row),
                  isNew(idOf(row)) && "motion-safe:animate-row-new",
                  isSelected && "bg-accent-soft hover:bg-accent-soft",
                )}
                style={{ ...template, height: rowHeight, transform: `translateY(${item.start}px)` }}
              >
                {shown.map((column) => (
                  // biome-ignore lint/a11y/useSemanticElements: see above
                  // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
                  <div
                    key={column.key}
                    role="gridcell"
                    className={cn(
                      "min-w-0 truncate [&>*]:align-middle",
                      column.align === "right" && "text-right tabular-nums",
                    )}
                  >
                    {column.cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
        {footer}
      </div>
      {hasMenu && (
        <Suspense>
          <ColumnsButton
            table={label}
            className="absolute top-px right-3 z-10 h-7 bg-surface px-1.5"
            all={choosable.map(({ key }) => key)}
            defaults={shown.filter(({ headerHidden }) => headerHidden !== true).map(({ key }) => key)}
            shown={chosen}
            labelOf={(key) => choosable.find((column) => column.key === key)?.header ?? key}
            onChange={choose}
          />
        </Suspense>
      )}
    </div>
  );
}

function HeaderCell<Row>({
  column,
  sort,
  onSort,
}: {
  readonly column: Column<Row>;
  readonly sort: Sort | undefined;
  readonly onSort: ((sort: Sort) => void) | undefined;
}) {
  const isSorted = sort?.key === column.key;
  const direction = isSorted ? (sort.dir === "asc" ? "ascending" : "descending") : "none";
  const className = cn("min-w-0 truncate", column.align === "right" && "text-right");
  if (column.sortable !== true || onSort === undefined) {
    return (
      // biome-ignore lint/a11y/useSemanticElements: see above
      // biome-ignore lint/a11y/useFocusableInteractive: it does nothing
      <div role="columnheader" className={className}>
        {column.headerHidden === true ? <span className="sr-only">{column.header}</span> : column.header}
      </div>
    );
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: see above
    // biome-ignore lint/a11y/useFocusableInteractive: its button has the focus
    <div role="columnheader" aria-sort={direction} className={className}>
      <button
        type="button"
        className={cn(
          "inline-flex h-6 min-w-6 max-w-full items-center gap-1 hover:text-ink",
          column.align === "right" && "justify-end",
        )}
        onClick={() => onSort({ key: column.key, dir: isSorted && sort.dir === "asc" ? "desc" : "asc" })}
      >
        <span className="truncate">{column.header}</span>
        {isSorted &&
          (sort.dir === "asc" ? (
            <ArrowUp aria-hidden className="size-3" />
          ) : (
            <ArrowDown aria-hidden className="size-3" />
          ))}
      </button>
    </div>
  );
}
