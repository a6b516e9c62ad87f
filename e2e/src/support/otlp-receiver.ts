import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { until } from "./traces.ts";

type Signal = "traces" | "logs" | "metrics";
const SERVICES: Readonly<Record<Signal, string>> = {
  traces: "trace.v1.TraceService",
  logs: "logs.v1.LogsService",
  metrics: "metrics.v1.MetricsService",
};

export interface OtlpReceiver {
  readonly grpcPort: number;
  readonly httpPort: number;
  /** Headers of the last request over HTTP. */
  headers(): IncomingHttpHeaders;
  /** Resolves when a request of the signal has contained the text. Protobuf contains names as plain text. */
  received(signal: Signal, text: string): Promise<void>;
  close(): Promise<void>;
}

/** An OTLP collector over gRPC and HTTP that accepts everything and parses nothing. */
export async function otlpReceiver(): Promise<OtlpReceiver> {
  const bodies: { readonly signal: Signal; readonly body: Buffer }[] = [];
  let headers: IncomingHttpHeaders = {};

  const grpc = new Server();
  for (const [signal, service] of Object.entries(SERVICES) as [Signal, string][]) {
    const asItIs = (bytes: Buffer): Buffer => bytes;
    const definition: ServiceDefinition = {
      Export: {
        path: `/opentelemetry.proto.collector.${service}/Export`,
        requestStream: false,
        responseStream: false,
        requestSerialize: asItIs,
        requestDeserialize: asItIs,
        responseSerialize: asItIs,
        responseDeserialize: asItIs,
      },
    };
    const implementation: UntypedServiceImplementation = {
      Export: (call: { readonly request: Buffer }, done: (error: null, answer: Buffer) => void) => {
        bodies.push({ signal, body: call.request });
        done(null, Buffer.alloc(0));
      },
    };
    grpc.addService(definition, implementation);
  }
  const grpcPort = await new Promise<number>((resolve, reject) => {
    grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });

  const http = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      headers = request.headers;
      bodies.push({ signal: (request.url ?? "").slice("/v1/".length) as Signal, body: Buffer.concat(parts) });
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await once(http.listen(0, "127.0.0.1"), "listening");

  return {
    grpcPort,
    httpPort: (http.address() as AddressInfo).port,
    headers: () => headers,
    async received(signal, text) {
      const holds = (): boolean => bodies.some((one) => one.signal === signal && one.body.includes(text));
      await until(`${signal} with ${text} came`, 15_000, () => Promise.resolve(holds()), Boolean);
    },
    async close() {
      grpc.forceShutdown();
      http.closeAllConnections();
      await once(http.close(), "close");
    },
  };
}
