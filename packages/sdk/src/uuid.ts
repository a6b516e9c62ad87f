import { randomHex } from "./telemetry/random-hex.ts";

/** Returns a random UUID (version 4). It also works on pages without TLS, where `crypto.randomUUID` does not exist. */
export function newUuid(): string {
  const hex = randomHex(16);
  const variant = "89ab"[Number.parseInt(hex.slice(16, 17), 16) & 3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
