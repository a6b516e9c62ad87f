/** Replaces a secret. */
export const MASK = "***";

/**
 * Parts of names whose values are secrets. Comparison ignores case and `-`, `_`, `.` and spaces: `api_key` matches
 * `X-Api-Key`.
 */
export const SECRET_NAMES: readonly string[] = [
  "password",
  "passwd",
  "passphrase",
  "secret",
  "token",
  "authorization",
  "cookie",
  "api_key",
  "access_key",
  "private_key",
  "signing_key",
  "encryption_key",
  "credential",
  "session_id",
  "session_key",
];
