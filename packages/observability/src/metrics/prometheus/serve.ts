import type { IncomingMessage, ServerResponse } from "node:http";
import type { ModuleContext, Undo } from "@svc-runtime/engine/module";
import type { Resource } from "../../telemetry-records.ts";
import type { SeriesStore } from "../series-store.ts";
import { snapshotOf } from "../snapshot.ts";
import { CONTENT_TYPES, metricsText, type TextFormat } from "./text.ts";

/** Time in milliseconds for which scrapes share one text. The text is shared because building it delays calls. */
const KEPT_MS = 1_000;

export interface ServeParts {
  readonly store: SeriesStore;
  readonly own: Resource;
  readonly address: { readonly host: string; readonly port: number };
}

/** Serves the metrics at `/metrics` on a listener of their own. Rejects if the address cannot be bound. */
export async function servePrometheus(
  { listen, clock, log }: Pick<ModuleContext<unknown>, "listen" | "clock" | "log">,
  { store, own, address }: ServeParts,
): Promise<Undo> {
  const kept = new Map<TextFormat, { readonly text: string; readonly atMs: number }>();

  function textIn(format: TextFormat): string {
    const now = clock.monotonic();
    const latest = kept.get(format);
    if (latest !== undefined && now - latest.atMs < KEPT_MS) return latest.text;
    const text = metricsText(snapshotOf(store, own), own, format);
    kept.set(format, { text, atMs: now });
    return text;
  }

  const listener = await listen({
    ...address,
    what: "Prometheus",
    onRequest: (request, response) => handle(request, response, textIn),
  });
  log.info("metrics are served to Prometheus", { host: address.host, port: listener.port, path: "/metrics" });
  return () => listener.close();
}

function handle(request: IncomingMessage, response: ServerResponse, textIn: (format: TextFormat) => string): void {
  // Request bodies are discarded.
  request.resume();
  const path = (request.url ?? "/").split("?", 1)[0];
  const isGet = request.method === "GET" || request.method === "HEAD";
  if (path !== "/metrics" || !isGet) {
    const status = path === "/metrics" ? 405 : 404;
    response.writeHead(status, {
      "content-type": "text/plain; charset=utf-8",
      ...(status === 405 ? { allow: "GET, HEAD" } : {}),
    });
    response.end(status === 405 ? "GET only\n" : "metrics are at /metrics\n");
    return;
  }
  const format: TextFormat = prefersOpenMetrics(request.headers.accept) ? "openmetrics" : "prometheus";
  const text = Buffer.from(textIn(format));
  response.writeHead(200, {
    "content-type": CONTENT_TYPES[format],
    "content-length": text.byteLength,
    "cache-control": "no-store",
    vary: "accept",
  });
  response.end(request.method === "HEAD" ? undefined : text);
}

/** True if the client accepts OpenMetrics, and prefers it to plain text or is indifferent. */
function prefersOpenMetrics(accept: string | undefined): boolean {
  const weightOf = (type: string): number => {
    const part = accept?.split(",").find((one) => one.trim().toLowerCase().startsWith(type));
    if (part === undefined) return 0;
    const weight = /;\s*q=([0-9.]+)/i.exec(part);
    return weight === null ? 1 : Number(weight[1]);
  };
  const openMetrics = weightOf("application/openmetrics-text");
  return openMetrics > 0 && openMetrics >= weightOf("text/plain");
}
