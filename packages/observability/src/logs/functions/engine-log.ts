import type { Attributes, AttributeValue, Directory, LogEntry, ModuleContext } from "@svc-runtime/engine/module";
import { type Caller, Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import type { RecordRate } from "../../otlp/record-rate.ts";
import { isReserved, withoutAttributes } from "../../otlp/reserved-attributes.ts";
import type { DropCounter } from "../../telemetry-records.ts";
import { boundAttributes, cutText, MAX_NAME_CHARACTERS, MAX_VALUE_CHARACTERS } from "../bounded-record.ts";
import { validSpanId, validTraceId } from "../log-record.ts";

const input = () =>
  z.object({
    message: z.string(),
    trace_id: z.string().nullish(),
    span_id: z.string().nullish(),
    data: z
      .custom<Payload>((value) => value instanceof Payload)
      .meta({ description: "Any JSON value; members of an object become attributes" })
      .optional(),
    service_name: z.string().nullish(),
  });

const SEVERITY_NUMBERS = { info: 9, warn: 13, error: 17, debug: 5, trace: 1 } as const;

/** Name of the attribute for data that is not an object. */
const DATA = "data";
/** Maximum size of data that is parsed, in bytes. The beginning of larger data is stored as text. */
const MAX_DATA_BYTES = 1024 * 1024;

export interface EngineLogParts {
  readonly log: (entry: LogEntry) => void;
  readonly drops: DropCounter;
  /** Limits the number of records from restricted principals. */
  readonly rate: RecordRate;
}

/**
 * `engine::log::*`: lets a worker write a log entry without an SDK's logger. Entries of restricted callers count
 * against the same rate limit as their other telemetry; entries over the limit are dropped and counted. Their service
 * is the worker's name with its principal.
 */
export function provideEngineLog(
  { provideFunction, directory }: Pick<ModuleContext<unknown>, "provideFunction" | "directory">,
  { log, drops, rate }: EngineLogParts,
): void {
  const isWithinRate = (restrictedTo: string | undefined): boolean => {
    if (restrictedTo === undefined) return true;
    if (rate.isSpent(restrictedTo)) {
      drops.dropped("logs", "principal_rate", 1);
      return false;
    }
    rate.take(restrictedTo);
    return true;
  };
  for (const [name, severity] of Object.entries(SEVERITY_NUMBERS)) {
    provideFunction({
      id: `engine::log::${name}`,
      summary: `Writes a log entry of level ${name}`,
      input,
      rawMembers: [DATA],
      handle: ({ message, trace_id, span_id, data, service_name }, { caller, access, traceparent }) => {
        const restrictedTo = access === undefined ? undefined : principalOf(caller, directory);
        if (!isWithinRate(restrictedTo)) return;
        const attributes = attributesFor(data, caller, restrictedTo !== undefined);
        const named = validTraceId(trace_id);
        // An invalid id is kept as an attribute. Otherwise it would be lost.
        if (trace_id && named === undefined) attributes["svc.trace_id"] = trace_id.slice(0, MAX_NAME_CHARACTERS);
        // An entry without ids of its own belongs to the trace of this call.
        const [, traceId, spanId] = (trace_id ? undefined : traceparent)?.split("-") ?? [];
        log({
          severity,
          body: message,
          attributes,
          traceId: named ?? traceId,
          spanId: named === undefined ? spanId : validSpanId(span_id),
          service: restrictedTo === undefined ? service_name || "unknown" : `${caller?.name ?? ""} (${restrictedTo})`,
        });
      },
    });
  }
}

/** Returns the principal id of a restricted caller. */
function principalOf(caller: Caller | undefined, directory: Pick<Directory, "workerById">): string {
  return directory.workerById(caller?.worker_id ?? "")?.principal ?? "unknown";
}

function attributesFor(
  data: Payload | undefined,
  caller: Caller | undefined,
  isRestricted: boolean,
): Record<string, AttributeValue> {
  const attributes: Record<string, AttributeValue> = Object.create(null);
  const given = attributesOf(data);
  // Reserved attributes name the function or worker that logged the entry. A restricted caller may not set them,
  // because the call does not prove them.
  const permitted = isRestricted ? withoutAttributes(given, (name, value) => isReserved(name, value, {})) : given;
  Object.assign(attributes, boundAttributes(permitted));
  if (caller !== undefined) {
    attributes["svc.worker.name"] = caller.name;
    attributes["svc.worker.id"] = caller.worker_id;
  }
  return attributes;
}

function attributesOf(data: Payload | undefined): Attributes {
  if (data === undefined) return {};
  // The size is checked before parsing, because even listing a million member names would take half a second.
  if (data.byteLength > MAX_DATA_BYTES)
    return { [DATA]: cutText(data.text(), MAX_VALUE_CHARACTERS), "svc.truncated": true };
  // The data is JSON, so each value in it is a valid attribute value.
  const value = JSON.parse(data.text()) as AttributeValue;
  if (value === null) return {};
  return typeof value === "object" && value !== null && !isList(value) ? value : { [DATA]: value };
}

function isList(value: object): value is readonly AttributeValue[] {
  return Array.isArray(value);
}
