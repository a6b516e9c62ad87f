import { readFileSync, statSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { TlsFiles } from "../config/types.ts";

/** Maximum size of a certificate or key file, in bytes. */
const MAX_TLS_FILE_BYTES = 4 * 1024 * 1024;
const minVersion = "TLSv1.2";

/** Thrown when a listener's certificate is not usable. The message names the file and the problem. */
export class TlsError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "TlsError";
  }
}

/**
 * Reads a listener's certificate, its key and the certificate authority for clients. Checks that certificate and key
 * match. Throws TlsError. `what` is the listener's purpose.
 */
export function readTls(files: TlsFiles, what: string): SecureContextOptions {
  const read = (kind: string, file: string): Buffer => {
    try {
      const found = statSync(file);
      // Reading a device or a pipe may never end.
      if (!found.isFile() || found.size > MAX_TLS_FILE_BYTES)
        throw new Error(`it is not a file of at most ${MAX_TLS_FILE_BYTES} bytes`);
      return readFileSync(file);
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      const reason = code === "ENOENT" ? "there is no such file" : code === "EACCES" ? "permission denied" : message;
      throw new TlsError(`the ${kind} for ${what} cannot be read: ${file}: ${reason}`, cause);
    }
  };
  const check = (problem: string, options: SecureContextOptions): void => {
    try {
      createSecureContext(options);
    } catch (cause) {
      throw new TlsError(`${problem}: ${(cause as Error).message}`, cause);
    }
  };
  const cert = read("TLS certificate", files.cert);
  const key = read("TLS key", files.key);
  check(`the TLS certificate for ${what} is not a PEM certificate: ${files.cert}`, { cert });
  check(`the TLS key for ${what} is not a PEM private key without a passphrase: ${files.key}`, { key });
  check(`the TLS certificate and key for ${what} do not belong together: ${files.cert} and ${files.key}`, {
    cert,
    key,
  });
  if (files.clientCa === undefined) return { cert, key, minVersion };
  const ca = read("client authority", files.clientCa);
  check(`the client authority for ${what} is not a PEM certificate: ${files.clientCa}`, { ca });
  if (!ca.includes("-----BEGIN CERTIFICATE-----"))
    throw new TlsError(
      `the client authority for ${what} is not a PEM certificate: ${files.clientCa}: it contains none`,
      undefined,
    );
  return { cert, key, ca, minVersion };
}
