import { didYouMean } from "../nearest-name.ts";
import type { FieldTerm, QueryProblem } from "./terms.ts";

export interface QueryField {
  readonly name: string;
  /** Other names of the field. */
  readonly aliases: readonly string[];
  readonly description: string;
  /** All values that the field can have, if they are few. */
  readonly values?: readonly string[];
}

export const TRACE_STATUSES = ["ok", "error", "pending"] as const;
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

export const TRACE_FIELDS = [
  { name: "status", aliases: [], description: "status of the root span", values: TRACE_STATUSES },
  { name: "duration", aliases: ["dur"], description: "duration of the root span, e.g. duration>100ms" },
  { name: "function", aliases: ["fn", "function_id"], description: "id of a function that a span ran" },
  { name: "service", aliases: ["source", "service_name"], description: "service of a span" },
  { name: "worker", aliases: [], description: "name or id of a worker that ran a span" },
  { name: "trigger", aliases: ["trigger_type"], description: "what started the trace, e.g. http, cron, queue" },
  { name: "name", aliases: ["op"], description: "name of a span" },
  { name: "trace", aliases: ["trace_id"], description: "id of the trace" },
  { name: "node", aliases: [], description: "node of the cluster that recorded a span" },
] as const satisfies readonly QueryField[];

export const LOG_FIELDS = [
  { name: "level", aliases: ["severity"], description: "level, e.g. level>=warn", values: LOG_LEVELS },
  { name: "service", aliases: ["source", "service_name"], description: "service that wrote the entry" },
  { name: "worker", aliases: [], description: "name or id of the worker that wrote the entry" },
  { name: "function", aliases: ["fn", "function_id"], description: "function that wrote the entry" },
  { name: "trace", aliases: ["trace_id"], description: "id of the trace" },
  { name: "span", aliases: ["span_id"], description: "id of the span" },
  { name: "message", aliases: ["body"], description: "message of the entry" },
  { name: "node", aliases: [], description: "node of the cluster that recorded the entry" },
] as const satisfies readonly QueryField[];

export const STATE_TYPES = ["object", "array", "string", "number", "boolean", "null"] as const;

export const STATE_FIELDS = [
  { name: "scope", aliases: ["group"], description: "scope of the item" },
  { name: "key", aliases: [], description: "key of the item" },
  { name: "value", aliases: [], description: "the value; value.a.b is a member of it, e.g. value.total>100" },
  { name: "type", aliases: [], description: "type of the value", values: STATE_TYPES },
  { name: "version", aliases: [], description: "version of the item" },
  { name: "size", aliases: ["bytes"], description: "size of the value in bytes" },
  { name: "updated", aliases: [], description: "time since the last change, e.g. updated<10m" },
] as const satisfies readonly QueryField[];

/** Returns the name of the field; undefined if there is none. */
export function fieldName<Field extends QueryField>(fields: readonly Field[], name: string): Field["name"] | undefined {
  const wanted = name.toLowerCase();
  return fields.find((field) => field.name === wanted || field.aliases.includes(wanted))?.name;
}

/** Returns the key of an attribute in the engine's filters. A name with a dot needs no prefix `attr.`. */
export function attributeKey(name: string): string | undefined {
  if (name.startsWith("attr.")) return name.slice("attr.".length) || undefined;
  return name.includes(".") ? name : undefined;
}

export function unknownField(fields: readonly QueryField[], { field, at = 0 }: FieldTerm): QueryProblem {
  const names = fields.map(({ name }) => name);
  const hint =
    didYouMean(field, names) ||
    `; expected ${names.join(", ")}, or attr.${field} for an attribute; text with a colon needs quotation marks`;
  return { at, message: `unknown field ${field}${hint}` };
}

/** A filter on an attribute or a field, as the engine's functions expect it. */
export interface EngineFilter {
  readonly key: string;
  readonly op:
    | "equals"
    | "not_equals"
    | "contains"
    | "not_contains"
    | "like"
    | "not_like"
    | "gt"
    | "gte"
    | "lt"
    | "lte"
    | "exists"
    | "not_exists";
  readonly value?: string;
}

/**
 * Converts a term to a filter on `key`. Returns undefined for a negated comparison: the engine has no filter for it.
 */
export function engineFilterOf({ op, value, negated }: FieldTerm, key: string): EngineFilter | undefined {
  if (!negated) return op === "exists" ? { key, op } : { key, op, value };
  if (op === "exists") return { key, op: "not_exists" };
  return op === "equals" || op === "contains" || op === "like" ? { key, op: `not_${op}`, value } : undefined;
}
