import { type AttributeValue, schemaOf } from "@svc-runtime/engine/module";
import { z } from "zod";
import type { SpanRecord } from "../../telemetry-records.ts";
import { parseLine } from "../../transfer/line-channel.ts";

const MAX_ATTRIBUTES = 1_024;
const nanos = z
  .string()
  .regex(/^-?\d{1,20}$/)
  .transform((text) => BigInt(text));
const attributes = z.record(z.string().max(512), z.json()).refine((map) => Object.keys(map).length <= MAX_ATTRIBUTES);

const storedSpanSchema = () =>
  z.object({
    trace_id: z.string().regex(/^[0-9a-f]{32}$/),
    span_id: z.string().regex(/^[0-9a-f]{16}$/),
    parent_span_id: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .nullish(),
    name: z.string().max(4_096),
    kind: z.enum(["internal", "server", "client", "producer", "consumer"]).default("internal"),
    start_time_unix_nano_text: nanos,
    end_time_unix_nano_text: nanos.nullish(),
    status: z.enum(["ok", "error", "unset"]).default("unset"),
    status_description: z.string().max(65_536).optional(),
    internal: z.boolean().default(false),
    service_name: z.string().max(256),
    worker_id: z.string().max(256).nullish(),
    restricted_to: z.string().max(1_024).optional(),
    attributes_map: attributes.default({}),
    events: z
      .array(
        z.object({
          name: z.string().max(4_096),
          timestamp_unix_nano_text: nanos,
          attributes_map: attributes.default({}),
        }),
      )
      .max(1_024)
      .default([]),
    links: z
      .array(
        z.object({ trace_id: z.string().max(32), span_id: z.string().max(16), attributes_map: attributes.default({}) }),
      )
      .max(1_024)
      .default([]),
    baggage: z.record(z.string(), z.string()).default({}),
    resource: attributes.default({}),
    instrumentation_scope_name: z.string().max(512).optional(),
    instrumentation_scope_version: z.string().max(512).optional(),
  });

/**
 * Returns the span of a line, or undefined if the line is invalid. A span that was pending at export gets its start as
 * its end.
 */
export function readStoredSpan(line: string): SpanRecord | undefined {
  const parsed = schemaOf(storedSpanSchema).safeParse(parseLine(line));
  if (!parsed.success) return undefined;
  const { data } = parsed;
  const { "service.name": _, ...resource } = data.resource;
  return {
    traceId: data.trace_id,
    spanId: data.span_id,
    parentSpanId: data.parent_span_id ?? undefined,
    name: data.name,
    kind: data.kind,
    startUnixNano: data.start_time_unix_nano_text,
    endUnixNano: data.end_time_unix_nano_text ?? data.start_time_unix_nano_text,
    status: data.status,
    statusDescription: data.status_description,
    attributes: valuesOf(data.attributes_map),
    events: data.events.map((event) => ({
      name: event.name,
      timeUnixNano: event.timestamp_unix_nano_text,
      attributes: valuesOf(event.attributes_map),
    })),
    links: data.links.map((link) => ({
      traceId: link.trace_id,
      spanId: link.span_id,
      attributes: valuesOf(link.attributes_map),
    })),
    baggage: data.baggage,
    resource: {
      service: data.service_name,
      workerId: data.worker_id ?? undefined,
      attributes: valuesOf(resource),
      restrictedTo: data.restricted_to,
    },
    scopeName: data.instrumentation_scope_name,
    scopeVersion: data.instrumentation_scope_version,
    internal: data.internal,
    sampled: true,
    outside: data.restricted_to !== undefined,
    // This is an upper limit: a character takes at most two bytes, and attribute objects are not much larger than their
    // JSON.
    size: 2 * line.length,
  };
}

function valuesOf(map: Record<string, z.core.util.JSONType>): Record<string, AttributeValue> {
  return map;
}
