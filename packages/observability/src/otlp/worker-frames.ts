import type { Directory, IngestSource, Signal } from "@svc-runtime/engine/module";
import { type Ingest, parseJsonBody } from "./ingest.ts";

/** Takes frames of workers (section 9 of the protocol). They are OTLP/JSON and get no response. */
export function takeFrame(
  ingest: Ingest,
  directory: Pick<Directory, "workerById" | "functionById">,
  signal: Signal,
  body: Uint8Array,
  source: IngestSource,
): void {
  const { worker, address, principal } = source;
  const isOfSender = workersAt(directory, address);
  const restrictedTo = principal.isTrusted ? undefined : principal.id;
  ingest.offer(restrictedTo ?? worker?.id ?? address ?? "unknown", {
    signal,
    bytes: body.byteLength,
    origin: {
      worker,
      isFrame: true,
      mayBeWorker: (id) =>
        isOfSender(id) && (principal.isTrusted || directory.workerById(id)?.principal === principal.id),
      restrictedTo,
      providesFunction: principal.isTrusted ? undefined : providedBy(directory, principal.id),
    },
    parse: () => parseJsonBody(body),
    onDone: undefined,
  });
}

/**
 * Returns a function that says whether workers of the principal provide a function. Results are cached, because a frame
 * names few different functions.
 */
function providedBy(
  directory: Pick<Directory, "workerById" | "functionById">,
  principalId: string,
): (functionId: string) => boolean {
  const known = new Map<string, boolean>();
  return (functionId) => {
    let isProvided = known.get(functionId);
    if (isProvided === undefined) {
      const workers = directory.functionById(functionId)?.workers ?? [];
      isProvided = workers.some(({ id }) => directory.workerById(id)?.principal === principalId);
      known.set(functionId, isProvided);
    }
    return isProvided;
  };
}

/** Returns a function that says whether a worker is connected from the same machine as this address (`ip:port`). */
export function workersAt(
  directory: Pick<Directory, "workerById">,
  address: string | undefined,
): (workerId: string) => boolean {
  const host = address === undefined ? undefined : hostOf(address);
  return (workerId) => {
    const connected = directory.workerById(workerId)?.ip_address;
    return host !== undefined && connected !== undefined && connected !== null && hostOf(connected) === host;
  };
}

/**
 * Returns the host without the port and without brackets. IPv4-mapped IPv6 addresses become IPv4, and `::1` becomes
 * 127.0.0.1.
 */
function hostOf(address: string): string {
  const bracketed = /^\[(.*)\](?::[0-9]+)?$/.exec(address)?.[1];
  const host = bracketed ?? (address.split(":").length === 2 ? (address.split(":")[0] as string) : address);
  const plain = host.replace(/^::ffff:/i, "");
  return plain === "::1" ? "127.0.0.1" : plain;
}
