import type { Attributes } from "@svc-runtime/engine/module";
import type { ObservabilityConfig } from "./config.ts";
import { NODE_ATTRIBUTE, type Resource } from "./telemetry-records.ts";

/**
 * Returns the resource of the spans and metrics that the engine itself records: its service, and the name of its node in
 * a cluster.
 */
export function engineResource(
  { service_name, service_version, service_namespace }: ObservabilityConfig,
  node: string | undefined,
): Resource {
  const attributes: Record<string, string> = {};
  if (service_version !== undefined) attributes["service.version"] = service_version;
  if (service_namespace !== undefined) attributes["service.namespace"] = service_namespace;
  if (node !== undefined) attributes[NODE_ATTRIBUTE] = node;
  return { service: service_name, workerId: undefined, attributes: attributes satisfies Attributes };
}
