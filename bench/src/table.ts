import { type Bar, verdictOf } from "./bars.ts";
import { cpuUsPerOperation, operationsPerSecond, type Window } from "./generator/load.ts";
import { type Spread, spread } from "./statistics.ts";

const MB = 1024 * 1024;

/** All windows of one side of a comparison. */
export interface Measurement {
  readonly variant: string;
  readonly windows: readonly Window[];
}

/**
 * Renders a table. Pads columns to their widest cell. The first column is aligned left, the others as in `alignRight`.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  alignRight: ReadonlySet<number>,
): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        alignRight.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd();
  return [line(header), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** Formats a number with at most four significant digits and no exponent. */
export function formatNumber(value: number): string {
  if (value >= 1000) return Math.round(value).toString();
  return Number(value.toPrecision(3)).toString();
}

function formatSpread({ median, min, max }: Spread): string {
  return `${formatNumber(median)} [${formatNumber(min)}-${formatNumber(max)}]`;
}

export function renderBars(bars: readonly Bar[]): string {
  const rows = bars.map((bar) => [
    String(bar.row),
    bar.what,
    `${formatNumber(bar.measured.median)} ${bar.unit}`,
    `[${formatNumber(bar.measured.min)}-${formatNumber(bar.measured.max)}]`,
    `${bar.sense === "at most" ? "<=" : ">="} ${formatNumber(bar.limit)} ${bar.unit}`,
    bar.standing === "quoted" ? `quoted: ${verdictOf(bar)}` : verdictOf(bar),
  ]);
  return renderTable(["row", "bar", "measured", "min-max", "limit", "verdict"], rows, new Set([2, 3, 4]));
}

export function renderMeasurements(measurements: readonly Measurement[]): string {
  const rows = measurements.map(({ variant, windows }) => {
    const of = (value: (window: Window) => number): Spread => spread(windows.map(value));
    return [
      variant,
      formatSpread(of(cpuUsPerOperation)),
      formatSpread(of(operationsPerSecond)),
      formatSpread(of((window) => window.p50Us)),
      formatSpread(of((window) => window.p99Us)),
      formatNumber(of((window) => window.peakResidentBytes / MB).max),
      formatNumber(of((window) => window.ownCpuUs / window.operations).median),
    ];
  });
  return renderTable(
    ["variant", "CPU us/op", "op/s", "p50 us", "p99 us", "RSS MB", "load us/op"],
    rows,
    new Set([1, 2, 3, 4, 5, 6]),
  );
}
