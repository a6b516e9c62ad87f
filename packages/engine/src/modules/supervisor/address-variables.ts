export interface AddressFacts {
  /** Address that workers connect to, e.g. `ws://localhost:49134`. Called at each start of a process. */
  readonly bridgeUrl: () => string;
  /** The engine's token for the workers. Absent: no token. */
  readonly token?: string | undefined;
  /**
   * Returns true if III_URL must contain the token, because published clients read no token variable. Default: never.
   */
  readonly tokenInUrl?: () => boolean;
}

/**
 * Returns the variables with which a local worker connects to the engine. SVC_URL is for our SDKs, III_URL is for
 * published clients. If the entry sets its own token (SVC_TOKEN), the worker does not get the engine's token, because
 * the entry's token may have fewer rights.
 */
export function addressVariables(
  facts: AddressFacts,
  entryEnv: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { bridgeUrl, tokenInUrl } = facts;
  const url = bridgeUrl();
  const token = entryEnv.SVC_TOKEN ?? facts.token;
  if (token === undefined || token === "") return { SVC_URL: url, III_URL: url };
  return { SVC_URL: url, III_URL: tokenInUrl?.() === true ? withToken(url, token) : url, SVC_TOKEN: token };
}

function withToken(url: string, token: string): string {
  return url.replace("://", `://svc:${encodeURIComponent(token)}@`);
}
