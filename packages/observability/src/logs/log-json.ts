import type { Attributes } from "@svc-runtime/engine/module";
import { SecretMask } from "@svc-runtime/protocol/secrets";
import { type LogRecord, millisOf, NODE_ATTRIBUTE } from "../telemetry-records.ts";
import { isFatal } from "./severity.ts";
import type { StoredLog } from "./stored-log.ts";

/**
 * An entry in results, triggers and the stream. The specification's fields come first, then those of published clients,
 * then our own.
 */
export interface LogJson {
  /** Rounded, like all JSON numbers; `timestamp_unix_nano_text` is exact. */
  readonly timestamp_unix_nano: number;
  readonly observed_timestamp_unix_nano: number;
  readonly severity_number: number;
  readonly severity_text: string;
  readonly body: string;
  readonly attributes: Attributes;
  readonly trace_id: string | null;
  readonly span_id: string | null;
  readonly resource: Attributes;
  readonly service_name: string;
  readonly instrumentation_scope_name?: string;
  readonly instrumentation_scope_version?: string;
  readonly id: string;
  readonly timestamp_unix_nano_text: string;
  readonly observed_timestamp_unix_nano_text: string;
  readonly timestamp_ms: number;
  /** True for severity numbers from 21, whose `severity_text` is ERROR. */
  readonly fatal?: true;
  /** Node of the cluster that stores the entry. If it is set, `id` contains its name. */
  readonly node?: string;
}

/** The id of an entry, and the node that stores it if the id names one. */
export interface LogId {
  readonly id: string;
  readonly node?: string;
}

export function logIdOf(text: string): LogId {
  const at = text.indexOf("@");
  return at === -1 ? { id: text } : { id: text.slice(0, at), node: text.slice(at + 1) };
}

/** Masks secret attribute values; see `redact_keys`. */
export type RedactAttributes = (attributes: Attributes) => Attributes;

export function logJson({ id, log }: StoredLog, redact: RedactAttributes): LogJson {
  const node = log.resource.attributes[NODE_ATTRIBUTE];
  return {
    timestamp_unix_nano: Number(log.timeUnixNano),
    observed_timestamp_unix_nano: Number(log.observedUnixNano),
    severity_number: log.severityNumber,
    severity_text: log.severityText,
    body: log.body,
    attributes: redact(log.attributes),
    trace_id: log.traceId ?? null,
    span_id: log.spanId ?? null,
    resource: redact({ "service.name": log.resource.service, ...log.resource.attributes }),
    service_name: log.resource.service,
    ...(log.scopeName === undefined ? {} : { instrumentation_scope_name: log.scopeName }),
    ...(log.scopeVersion === undefined ? {} : { instrumentation_scope_version: log.scopeVersion }),
    id: typeof node === "string" ? `${id}@${node}` : String(id),
    timestamp_unix_nano_text: String(log.timeUnixNano),
    observed_timestamp_unix_nano_text: String(log.observedUnixNano),
    timestamp_ms: millisOf(log.timeUnixNano),
    ...(isFatal(log.severityNumber) ? { fatal: true } : {}),
    ...(typeof node === "string" ? { node } : {}),
  };
}

/**
 * Returns the record with masked attributes. It is shown, searched and stored on disk in this form. The body is not
 * masked.
 */
export function redactRecord(log: LogRecord, redact: RedactAttributes): LogRecord {
  return {
    ...log,
    attributes: redact(log.attributes),
    resource: { ...log.resource, attributes: redact(log.resource.attributes) },
  };
}

const redactions = new WeakMap<readonly string[], RedactAttributes>();

/**
 * Returns a function that masks the values of these keys. Queries use it, because the store's thread receives only the
 * keys. Returns the same function for the same list, because queries need it for each slice.
 */
export function redactionOf(keys: readonly string[]): RedactAttributes {
  let redaction = redactions.get(keys);
  if (redaction === undefined) {
    const redactor = new SecretMask(keys);
    redaction = (attributes) => redactor.attributes(attributes);
    redactions.set(keys, redaction);
  }
  return redaction;
}
