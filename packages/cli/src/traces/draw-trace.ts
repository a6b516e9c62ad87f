import { escapeUnprintable } from "../logs/log-lines.ts";
import type { Shell } from "../shell.ts";
import { formatDuration } from "../terminal/progress.ts";
import { clipped, padded, widest } from "../terminal/text-width.ts";
import { MAX_SPANS, type Span, type Spans, type SpanTree, treesOf } from "./traces.ts";

const DEFAULT_COLUMNS = 100;
const MIN_BAR = 8;
const MAX_BAR = 40;
const MAX_NAME = 60;
const MAX_SERVICE = 20;
/** Maximum depth of the tree on the screen. Deeper spans are drawn at this depth, so that names stay readable. */
const MAX_DRAWN_DEPTH = 12;
const NANOS_PER_MS = 1e6;

interface Row {
  readonly span: Span;
  /** Tree lines that are drawn before the name. */
  readonly branch: string;
}

/** Draws a trace as a tree: each span with its service, time within the trace, duration and error. */
export function drawTrace(
  traceId: string,
  { spans: found, total }: Spans,
  { columns = DEFAULT_COLUMNS, paint }: { readonly columns?: number | undefined; readonly paint: Shell["paint"] },
): string {
  const spans = withNodes(found);
  const rows = treesOf(spans).flatMap((tree) => rowsOf(tree));
  const scale = scaleOf(spans);
  const errors = spans.filter(({ status }) => status === "error").length;
  const head = [
    `trace ${traceId}`,
    scale.isPending ? "still running" : precise(scale.toMs - scale.fromMs),
    `${total} span${total === 1 ? "" : "s"}`,
    ...(errors === 0 ? [] : [paint.red(`${errors} error${errors === 1 ? "" : "s"}`)]),
  ];
  const widths = widthsFor(rows, columns);
  const lines = rows.map((row) => lineOf(row, { widths, scale, columns, paint }));
  const more =
    total > spans.length ? [paint.dim(`and ${total - spans.length} more spans; at most ${MAX_SPANS} are shown`)] : [];
  return `${[head.join("  "), ...lines, ...more].join("\n")}\n`;
}

/** Adds the name of its engine to the service of each span. Does nothing if all spans are from the same engine. */
function withNodes(spans: readonly Span[]): readonly Span[] {
  if (spans.every(({ node }) => node === spans[0]?.node)) return spans;
  return spans.map((span) =>
    span.node === undefined ? span : { ...span, service_name: `${span.service_name}@${span.node}` },
  );
}

/** Returns the rows of a tree. Uses a loop and no recursion, because a trace may be thousands of spans deep. */
function rowsOf(root: SpanTree): readonly Row[] {
  const rows: Row[] = [];
  const waiting: {
    readonly tree: SpanTree;
    readonly depth: number;
    readonly lead: string;
    readonly isLast: boolean;
  }[] = [{ tree: root, depth: 0, lead: "", isLast: true }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { tree, depth, lead, isLast } = next;
    const isDrawn = depth > 0 && depth <= MAX_DRAWN_DEPTH;
    rows.push({ span: tree.span, branch: isDrawn ? `${lead}${isLast ? "└─ " : "├─ "}` : lead });
    const below = isDrawn ? `${lead}${isLast ? "   " : "│  "}` : lead;
    for (const [index, child] of [...tree.children.entries()].reverse()) {
      waiting.push({ tree: child, depth: depth + 1, lead: below, isLast: index === tree.children.length - 1 });
    }
  }
  return rows;
}

interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
  readonly isPending: boolean;
}

function scaleOf(spans: readonly Span[]): Scale {
  const starts = spans.map(startMs);
  const ends = spans.map((span) => endMs(span) ?? startMs(span));
  const fromMs = starts.reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY);
  const toMs = ends.reduce((most, ms) => Math.max(most, ms), fromMs);
  return { fromMs, toMs, isPending: spans.some(({ end_time_unix_nano_text: end }) => end === null) };
}

interface Widths {
  readonly name: number;
  readonly service: number;
  readonly bar: number;
}

const DURATION_WIDTH = 8;
const MARK_WIDTH = 2;

function widthsFor(rows: readonly Row[], columns: number): Widths {
  const name = Math.min(
    MAX_NAME,
    MARK_WIDTH + widest(rows.map(({ span, branch }) => branch + span.name)),
    Math.floor(columns * 0.5),
  );
  const service = Math.min(MAX_SERVICE, widest(rows.map(({ span }) => span.service_name)), Math.floor(columns * 0.2));
  const left = columns - name - service - DURATION_WIDTH - 6;
  return { name, service, bar: left < MIN_BAR ? 0 : Math.min(MAX_BAR, left) };
}

function lineOf(
  { span, branch }: Row,
  {
    widths,
    scale,
    columns,
    paint,
  }: { readonly widths: Widths; readonly scale: Scale; readonly columns: number; readonly paint: Shell["paint"] },
): string {
  const isError = span.status === "error";
  const mark = isError ? "✗ " : "";
  const name = padded(clipped(`${branch}${mark}${escapeUnprintable(span.name)}`, widths.name), widths.name);
  const service = padded(clipped(escapeUnprintable(span.service_name), widths.service), widths.service);
  const end = endMs(span);
  const duration = (end === undefined ? "running" : precise(end - startMs(span))).padStart(DURATION_WIDTH);
  const shownName = isError ? name.replace(mark, paint.red(mark)) : name;
  const bar = widths.bar === 0 ? [] : [(isError ? paint.red : paint.cyan)(barOf(span, scale, widths.bar))];
  const line = [shownName, paint.dim(service), ...bar, duration].join("  ").trimEnd();
  if (!isError || span.status_description === undefined) return line;
  const indent = " ".repeat(Math.min(branch.length + MARK_WIDTH, widths.name));
  return `${line}\n${indent}${paint.red(clipped(escapeUnprintable(span.status_description), Math.max(20, columns - indent.length)))}`;
}

/** Draws the time of the span within the trace. The bar has at least one character. */
function barOf(span: Span, { fromMs, toMs }: Scale, width: number): string {
  const whole = Math.max(toMs - fromMs, Number.MIN_VALUE);
  const at = (ms: number): number => Math.round(((ms - fromMs) / whole) * width);
  const from = Math.min(width - 1, Math.max(0, at(startMs(span))));
  const to = Math.min(width, Math.max(from + 1, at(endMs(span) ?? toMs)));
  return `${" ".repeat(from)}${"█".repeat(to - from)}${" ".repeat(width - to)}`;
}

/** Formats a duration: `0.42 ms`, `12.3 ms`. Durations from 100 ms on are formatted by `formatDuration`. */
export function precise(ms: number): string {
  if (ms < 10) return `${ms.toFixed(2)} ms`;
  return ms < 100 ? `${ms.toFixed(1)} ms` : formatDuration(ms);
}

function startMs(span: Span): number {
  return millis(span.start_time_unix_nano_text);
}

function endMs(span: Span): number | undefined {
  return span.end_time_unix_nano_text === null ? undefined : millis(span.end_time_unix_nano_text);
}

/**
 * Converts nanoseconds since 1970 to fractional milliseconds. Some digits are lost, but they are too small to be
 * visible.
 */
function millis(nanos: string): number {
  return Number(nanos) / NANOS_PER_MS;
}
