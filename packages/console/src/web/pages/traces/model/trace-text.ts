import { t } from "../../../labels/translate.ts";
import { duration } from "../../../lib/time.ts";
import type { TraceForest } from "../../../model/span-forest.ts";
import { asyncWorkText, outcomeOf } from "../../../model/trace-outcome.ts";
import type { Attribute, StoredSpan } from "../../../model/trace-types.ts";

const MAX_MARKDOWN_SPANS = 500;

/** Formats a trace as a Markdown list, for issues and chats. */
export function markdownOf(traceId: string, forest: TraceForest, link: string): string {
  const { root } = forest;
  const { durationMs, asyncWork } = outcomeOf(forest);
  const later = asyncWork === undefined ? "" : t`, asynchronous work ${asyncWorkText(asyncWork)}`;
  const lines = [
    t`**${inline(root?.name ?? traceId)}** (${inline(root?.service ?? "")}): ${durationMs === undefined ? "running" : duration(durationMs)}${later}, ${forest.spanCount} spans, ${forest.errorCount} errors`,
    "",
    `Trace [\`${traceId}\`](${link})`,
    "",
  ];
  for (const node of forest.nodes.slice(0, MAX_MARKDOWN_SPANS)) {
    const took =
      node.span === undefined ? "" : ` – ${node.endMs === undefined ? "running" : duration(node.endMs - node.startMs)}`;
    const failed =
      node.status === "error"
        ? ` – **error**${node.span?.status_description ? `: ${inline(node.span.status_description)}` : ""}`
        : "";
    lines.push(
      `${"  ".repeat(node.depth)}- ${inline(node.name)}${node.service === "" ? "" : ` (${inline(node.service)})`}${took}${failed}`,
    );
  }
  if (forest.nodes.length > MAX_MARKDOWN_SPANS) lines.push(t`- … ${forest.nodes.length - MAX_MARKDOWN_SPANS} more`);
  return `${lines.join("\n")}\n`;
}

/** Returns the text as one line with Markdown escaped. */
function inline(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_[\]<>|]/g, "\\$&");
}

/** Formats one span as Markdown. */
export function spanMarkdown(span: StoredSpan): string {
  const rows = span.attributes.map(([key, text]) => `| ${inline(key)} | ${inline(text)} |`);
  const took = span.duration_ms === null ? "running" : duration(span.duration_ms);
  return [
    `**${inline(span.name)}** (${inline(span.service_name)}), ${took}, ${span.status}`,
    "",
    "| attribute | value |",
    "|---|---|",
    ...rows,
    "",
  ].join("\n");
}

const KINDS: Readonly<Record<string, number>> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };
const CODES: Readonly<Record<string, number>> = { unset: 0, ok: 1, error: 2 };

/** Returns a trace as OTLP JSON (`ExportTraceServiceRequest`). Any collector accepts it at `/v1/traces`. */
export function otlpOf(spans: readonly StoredSpan[]): unknown {
  const byResource = new Map<string, StoredSpan[]>();
  for (const span of spans) {
    const key = JSON.stringify([span.service_name, span.resource, span.instrumentation_scope_name ?? null]);
    const ofOne = byResource.get(key);
    if (ofOne === undefined) byResource.set(key, [span]);
    else ofOne.push(span);
  }
  return {
    resourceSpans: [...byResource.values()].map((ofOne) => ({
      resource: {
        attributes: Object.entries(ofOne[0]?.resource ?? {}).map(([key, value]) => ({ key, value: otlpValue(value) })),
      },
      scopeSpans: [{ scope: { name: ofOne[0]?.instrumentation_scope_name ?? "" }, spans: ofOne.map(otlpSpan) }],
    })),
  };
}

function otlpSpan(span: StoredSpan) {
  return {
    traceId: span.trace_id,
    spanId: span.span_id,
    ...(span.parent_span_id === null ? {} : { parentSpanId: span.parent_span_id }),
    name: span.name,
    kind: KINDS[span.kind] ?? 1,
    startTimeUnixNano: span.start_time_unix_nano_text,
    endTimeUnixNano: span.end_time_unix_nano_text ?? "0",
    attributes: span.attributes.map(([key, text]) => ({ key, value: typed(text, span.attributes_map?.[key]) })),
    events: span.events.map((event) => ({
      name: event.name,
      timeUnixNano: event.timestamp_unix_nano_text,
      attributes: event.attributes.map(otlpAttribute),
    })),
    links: span.links.map((link) => ({
      traceId: link.trace_id,
      spanId: link.span_id,
      attributes: link.attributes.map(otlpAttribute),
    })),
    status: {
      code: CODES[span.status] ?? 0,
      ...(span.status_description === undefined ? {} : { message: span.status_description }),
    },
  };
}

function otlpAttribute([key, text]: Attribute) {
  return { key, value: { stringValue: text } };
}

/**
 * Returns a value in its OTLP form. The type is that of the value. The digits are those of the text, because the value
 * may be rounded.
 */
function typed(text: string, value: unknown): unknown {
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return /^-?\d+$/.test(text) ? { intValue: text } : { doubleValue: Number(text) };
  return { stringValue: text };
}

function otlpValue(value: unknown): unknown {
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { stringValue: typeof value === "string" ? value : JSON.stringify(value) };
}
