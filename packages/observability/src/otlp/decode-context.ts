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
  /** The worker over whose connection the records came. Undefined for `/otel` sockets and the OTLP receiver. */
  readonly worker: { readonly id: string; readonly name: string } | undefined;
  /** True if the records came as a frame of a worker, and not from an OpenTelemetry exporter. */
  readonly isFrame: boolean;
  /** True if a connected worker with that id has the sender's address. */
  readonly mayBeWorker: (workerId: string) => boolean;
  /**
   * Id of the principal if the sender is restricted. It becomes part of the sender's service name. Undefined for
   * trusted senders.
   */
  readonly restrictedTo?: string | undefined;
  /** Returns true for a function that the principal of a restricted sender provides. Undefined if it provides none. */
  readonly providesFunction?: ((functionId: string) => boolean) | undefined;
}

export interface DecodeContext {
  readonly origin: Origin;
  readonly spans: SpanSink;
  readonly logs: LogSink;
  readonly metrics: MetricSink;
  readonly drops: DropCounter;
  /** Current time, in nanoseconds since 1970. */
  readonly nowNanos: bigint;
  /** Name of this node of the cluster; undefined if the engine is in no cluster. */
  readonly node?: string | undefined;
}

export interface ScopeNames {
  readonly scopeName: string | undefined;
  readonly scopeVersion: string | undefined;
}

/**
 * Yields the records of a request with their resource and scope. `names` are the names of the JSON members, for example
 * `spans`.
 */
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
 * Reads a resource. A trusted sender may set any service name. The service name of a restricted sender is the worker's
 * name with its principal. The worker is known by its connection. Without one, the worker id that the resource claims
 * must be that of a worker at the sender's address.
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
  // Ids that were not verified are removed, because readers would trust them.
  delete attributes["svc.worker.id"];
  if (origin.restrictedTo !== undefined) delete attributes["worker.id"];
  if (workerId !== undefined) attributes["svc.worker.id"] = workerId;
  if (context.node !== undefined) attributes[NODE_ATTRIBUTE] = context.node;
  const named = typeof name === "string" && name !== "" ? name : (origin.worker?.name ?? "unknown_service");
  const service =
    origin.restrictedTo === undefined ? named : `${origin.worker?.name ?? "unknown_service"} (${origin.restrictedTo})`;
  return { service: service.slice(0, MAX_KEY_BYTES), workerId, attributes, restrictedTo: origin.restrictedTo };
}

/** Reads the attributes of a record. If the sender is restricted, reserved attributes are removed. */
export function readOwnAttributes(value: unknown, budget: RecordBudget, origin: Origin): Attributes {
  return permitted(readAttributes(value, budget), origin);
}

function permitted(attributes: Attributes, origin: Origin): Attributes {
  return origin.restrictedTo === undefined
    ? attributes
    : withoutAttributes(attributes, (name, value) => isReserved(name, value, origin));
}
