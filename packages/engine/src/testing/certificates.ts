import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

type Name =
  | "ca.pem"
  | "server.pem"
  | "server.key"
  | "renewed.pem"
  | "renewed.key"
  | "client.pem"
  | "client.key"
  | "other.key"
  | "address.pem"
  | "address.key";

/** Absolute path of a certificate or key for tests. */
export function certificateFile(name: Name): string {
  return fileURLToPath(new URL(`../../src/testing/certificates/${name}`, import.meta.url));
}

export function certificate(name: Name): Buffer {
  return readFileSync(certificateFile(name));
}
