import type { Signal } from "@svc-runtime/engine/module";
import type { ObservabilityConfig } from "../config.ts";

export type Protocol = "grpc" | "http/protobuf" | "http/json";

export interface CollectorAddress {
  readonly signal: Signal;
  readonly protocol: Protocol;
  /** The whole URL for HTTP; host and port for gRPC. */
  readonly url: string;
  readonly isTls: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

const OTLP_HTTP_PORT = "4318";
const OTLP_GRPC_PORT = "4317";

/** Returns the configured protocol, or the default of the endpoint's port. */
export function protocolOf({ protocol, endpoint }: Pick<ObservabilityConfig, "protocol" | "endpoint">): Protocol {
  return protocol ?? (new URL(endpoint).port === OTLP_HTTP_PORT ? "http/protobuf" : "grpc");
}

/**
 * Returns the address for a signal. For HTTP, the endpoint is the base URL to which the signal's path is added, as in
 * OpenTelemetry's exporters.
 */
export function collectorAddress(
  config: Pick<ObservabilityConfig, "protocol" | "endpoint" | "headers">,
  signal: Signal,
): CollectorAddress {
  const protocol = protocolOf(config);
  const endpoint = new URL(config.endpoint);
  const isTls = endpoint.protocol === "https:";
  const common = { signal, protocol, isTls, headers: config.headers };
  if (protocol === "grpc")
    return { ...common, url: `${endpoint.hostname}:${endpoint.port === "" ? OTLP_GRPC_PORT : endpoint.port}` };
  endpoint.pathname = `${endpoint.pathname.replace(/\/v1\/(?:traces|logs|metrics)\/?$/, "").replace(/\/+$/, "")}/v1/${signal}`;
  return { ...common, url: endpoint.href };
}
