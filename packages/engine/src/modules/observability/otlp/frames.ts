import type { Directory } from "../../../kernel/directory.ts";
import type { IngestSource, Signal } from "../../../kernel/telemetry-contract.ts";
import type { Ingest } from "./ingest.ts";
import { parseJsonBody } from "./json-body.ts";

/** Takes what workers send as frames (protocol section 9): OTLP/JSON, never answered. */
export function takeFrame(ingest: Ingest, directory: Pick<Directory, "workerById">, signal: Signal, body: Uint8Array, source: IngestSource): void {
  const { worker, address, principal } = source;
  const isOfSender = workersAt(directory, address);
  const restrictedTo = principal.isTrusted ? undefined : principal.id;
  ingest.offer(restrictedTo ?? worker?.id ?? address ?? "unknown", {
    signal,
    bytes: body.byteLength,
    origin: {
      worker,
      isFrame: true,
      mayBeWorker: (id) => isOfSender(id) && (principal.isTrusted || directory.workerById(id)?.principal === principal.id),
      restrictedTo,
    },
    parse: () => parseJsonBody(body),
    onDone: undefined,
  });
}

/** True for workers that are connected from the same machine as this address, `ip:port`. */
export function workersAt(directory: Pick<Directory, "workerById">, address: string | undefined): (workerId: string) => boolean {
  const host = address === undefined ? undefined : hostOf(address);
  return (workerId) => {
    const connected = directory.workerById(workerId)?.ip_address;
    return host !== undefined && connected !== undefined && connected !== null && hostOf(connected) === host;
  };
}

/** Without port and brackets; an IPv4 address inside IPv6 is that IPv4 address. Both loopbacks are one machine. */
function hostOf(address: string): string {
  const bracketed = /^\[(.*)\](?::[0-9]+)?$/.exec(address)?.[1];
  const host = bracketed ?? (address.split(":").length === 2 ? (address.split(":")[0] as string) : address);
  const plain = host.replace(/^::ffff:/i, "");
  return plain === "::1" ? "127.0.0.1" : plain;
}
