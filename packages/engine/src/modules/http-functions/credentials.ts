import { createHmac } from "node:crypto";
import { CallError } from "@svc-runtime/protocol";
import { isHeaderValue } from "./header-rules.ts";
import type { HttpAuth } from "./invocation.ts";

/** The environment of the engine's process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Authenticates the engine's requests to the function. */
export type Credential =
  | { readonly kind: "hmac"; readonly secret: string }
  | { readonly kind: "header"; readonly name: string; readonly value: string };

const MISSING = {
  hmac: ["secret_not_found", "secret"],
  bearer: ["token_not_found", "token"],
  api_key: ["api_key_not_found", "API key"],
} as const;
/** Never sent: a receiver could use it to control this engine. */
const ENGINE_TOKEN = "SVC_TOKEN";

/**
 * Reads the secret that `auth` names from the environment. It is called for each call, so a changed variable applies
 * from the next call on. Throws `secret_not_found`, `token_not_found` or `api_key_not_found`. No message contains the
 * value.
 */
export function readCredential(auth: HttpAuth | undefined, env: Environment): Credential | undefined {
  if (auth === undefined) return undefined;
  const [code, noun] = MISSING[auth.type];
  const variable = auth.type === "hmac" ? auth.secret_key : auth.type === "bearer" ? auth.token_key : auth.value_key;
  if (variable === ENGINE_TOKEN)
    throw new CallError(code, `the ${noun} may not be taken from ${ENGINE_TOKEN}, which opens this engine`);
  const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
  if (value === undefined || value === "")
    throw new CallError(code, `the ${noun} is missing: the environment variable ${variable} of the engine is not set`);
  if (auth.type === "hmac") return { kind: "hmac", secret: value };
  if (!isHeaderValue(value)) {
    throw new CallError(
      code,
      `the ${noun} in the environment variable ${variable} contains characters that are not allowed in a header, such as a line break or a space at the end`,
    );
  }
  return auth.type === "bearer"
    ? { kind: "header", name: "Authorization", value: `Bearer ${value}` }
    : { kind: "header", name: auth.header, value };
}

/**
 * Returns the headers that authenticate a request. They contain the credential, or a signature of the request's time
 * and body.
 */
export function credentialHeaders(
  credential: Credential | undefined,
  timestamp: string,
  body: Buffer,
): readonly (readonly [name: string, value: string])[] {
  if (credential === undefined) return [];
  if (credential.kind === "header") return [[credential.name, credential.value]];
  const digest = createHmac("sha256", credential.secret)
    .update(`${timestamp}:${body.toString("base64")}`)
    .digest("hex");
  const signature = `sha256=${digest}`;
  return [
    ["x-iii-Signature", signature],
    ["x-svc-Signature", signature],
  ];
}
