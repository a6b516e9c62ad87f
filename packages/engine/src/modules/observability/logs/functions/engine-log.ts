import { type Caller, Payload } from "@svc/protocol";
import { z } from "zod";
import type { Directory } from "../../../../kernel/directory.ts";
import type { ModuleContext } from "../../../../kernel/module.ts";
import type { Attributes, AttributeValue, LogEntry } from "../../../../kernel/telemetry-contract.ts";
import type { DropCounter } from "../../model.ts";
import type { RecordRate } from "../../otlp/record-rate.ts";
import { isReserved, withoutAttributes } from "../../otlp/reserved-attributes.ts";
import { boundAttributes, cutText, MAX_NAME_CHARACTERS, MAX_VALUE_CHARACTERS } from "../bounded-record.ts";
import { validSpanId, validTraceId } from "../record-of-entry.ts";

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

/** Data that is no object is kept under this name. */
const DATA = "data";
/** Longer data is not looked into: its beginning is kept as text. */
const MAX_DATA_BYTES = 1024 * 1024;

export interface EngineLogParts {
  readonly log: (entry: LogEntry) => void;
  readonly drops: DropCounter;
  /** Of restricted principals. */
  readonly rate: RecordRate;
}

/**
 * `engine::log::*`: a worker writes an entry, without an SDK's logger. Entries of restricted callers count like their other telemetry: those
 * over the limit are dropped and counted, and the service is the worker's name with its principal.
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
        // An id that is none would be lost otherwise.
        if (trace_id && named === undefined) attributes["svc.trace_id"] = trace_id.slice(0, MAX_NAME_CHARACTERS);
        // Without ids of its own the entry belongs to the call's caller, whose context came with it.
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

/** Id of the principal of a restricted caller. */
function principalOf(caller: Caller | undefined, directory: Pick<Directory, "workerById">): string {
  return directory.workerById(caller?.worker_id ?? "")?.principal ?? "unknown";
}

function attributesFor(data: Payload | undefined, caller: Caller | undefined, isRestricted: boolean): Record<string, AttributeValue> {
  const attributes: Record<string, AttributeValue> = Object.create(null);
  const given = attributesOf(data);
  // They say to which function or worker an entry belongs, and this call proves none of that.
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
  // Even to list the names of a million members takes half a second.
  if (data.byteLength > MAX_DATA_BYTES) return { [DATA]: cutText(data.text(), MAX_VALUE_CHARACTERS), "svc.truncated": true };
  // It is JSON, so that all in it is what an attribute may be.
  const value = JSON.parse(data.text()) as AttributeValue;
  if (value === null) return {};
  return typeof value === "object" && value !== null && !isList(value) ? value : { [DATA]: value };
}

function isList(value: object): value is readonly AttributeValue[] {
  return Array.isArray(value);
}
