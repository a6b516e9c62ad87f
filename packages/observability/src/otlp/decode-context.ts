import type { Attributes, AttributeValue } from "@svc-runtime/engine/module";
import {
  type DropCounter,
  type LogSink,
  type MetricSink,
  NODE_ATTRIBUTE,
  type Resource,
  type SpanSink,
} from "../telemetry-records.ts";
import { MAX_KEY_BYTES, RecordBudget } from "./limits.ts";
import { isReserved, withoutAttributes } from "./reserved-attributes.ts";
import { asList, asObject, asText, type JsonObject, readAttributes } from "./values.ts";

export interface Origin {
  /** The worker whose connection it came over; undefined for `/otel` sockets and the receiver. */
  readonly worker: { readonly id: string; readonly name: string } | undefined;
  /** True: it came as a frame of a worker, not from an OpenTelemetry exporter. */
  readonly isFrame: boolean;
  /** True if a connected worker with that id has the sender's address. */
  readonly mayBeWorker: (workerId: string) => boolean;
  /** Id of the principal if the sender is restricted; becomes part of its service name. Undefined: a trusted sender. */
  readonly restrictedTo?: string | undefined;
  /** True for a function that the principal of a restricted sender provides. Undefined: it provides none. */
  readonly providesFunction?: ((functionId: string) => boolean) | undefined;
}

export interface DecodeContext {
  readonly origin: Origin;
  readonly spans: SpanSink;
  readonly logs: LogSink;
  readonly metrics: MetricSink;
  readonly drops: DropCounter;
  /** Nanoseconds since 1970. */
  readonly nowNanos: bigint;
  /** Name of this node of a cluster; undefined for an engine that is alone. */
  readonly node?: string | undefined;
}

export interface ScopeNames {
  readonly scopeName: string | undefined;
  readonly scopeVersion: string | undefined;
}

/** Yields the records of a request with their resource and scope. `names` are the JSON members, e.g. `spans`. */
export function* recordsOf(
  body: unknown,
  names: { readonly resources: string; readonly scopes: string; readonly records: string },
): Generator<{ readonly resource: JsonObject; readonly scope: ScopeNames; readonly records: readonly unknown[] }> {
  for (const ofResource of asList(asObject(body)?.[names.resources])) {
    const resource = asObject(asObject(ofResource)?.resource) ?? {};
    for (const ofScope of asList(asObject(ofResource)?.[names.scopes])) {
      const records = asList(asObject(ofScope)?.[names.records]);
      if (records.length > 0) yield { resource, scope: readScope(asObject(ofScope)?.scope), records };
    }
  }
}

function readScope(value: unknown): ScopeNames {
  const scope = asObject(value);
  const short = (text: string | undefined): string | undefined =>
    text === undefined || text === "" ? undefined : text.slice(0, MAX_KEY_BYTES);
  return { scopeName: short(asText(scope?.name)), scopeVersion: short(asText(scope?.version)) };
}

/**
 * Reads a resource. A trusted sender may set any service name; for a restricted one it is the worker's name with its
 * principal. The worker is known by its connection; otherwise its claimed id must match the sender's address.
 */
export function readResource(
  resource: JsonObject,
  context: DecodeContext,
  signal: "spans" | "logs" | "metrics",
  claimed?: string,
): Resource {
  const { origin } = context;
  const given = readAttributes(resource.attributes, new RecordBudget(signal, context.drops));
  const name = given["service.name"];
  const claim = claimed ?? asText(given["svc.worker.id"]) ?? asText(given["worker.id"]);
  const workerId = origin.worker?.id ?? (claim !== undefined && origin.mayBeWorker(claim) ? claim : undefined);
  const attributes = Object.assign(Object.create(null) as Record<string, AttributeValue>, permitted(given, origin));
  delete attributes["service.name"];
  // Unverified ids are not shown as if they were verified.
  delete attributes["svc.worker.id"];
  if (origin.restrictedTo !== undefined) delete attributes["worker.id"];
  if (workerId !== undefined) attributes["svc.worker.id"] = workerId;
  if (context.node !== undefined) attributes[NODE_ATTRIBUTE] = context.node;
  const named = typeof name === "string" && name !== "" ? name : (origin.worker?.name ?? "unknown_service");
  const service =
    origin.restrictedTo === undefined ? named : `${origin.worker?.name ?? "unknown_service"} (${origin.restrictedTo})`;
  return { service: service.slice(0, MAX_KEY_BYTES), workerId, attributes, restrictedTo: origin.restrictedTo };
}

/** Reads the attributes of a record. Removes reserved ones if the sender is restricted. */
export function readOwnAttributes(value: unknown, budget: RecordBudget, origin: Origin): Attributes {
  return permitted(readAttributes(value, budget), origin);
}

function permitted(attributes: Attributes, origin: Origin): Attributes {
  return origin.restrictedTo === undefined
    ? attributes
    : withoutAttributes(attributes, (name, value) => isReserved(name, value, origin));
}
