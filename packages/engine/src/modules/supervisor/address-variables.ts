export interface AddressFacts {
  /** Where workers connect to, e.g. `ws://localhost:49134`. Asked at each start of a process. */
  readonly bridgeUrl: () => string;
  /** The engine's token, for the workers. Absent: they get none. */
  readonly token?: string | undefined;
  /** True when published clients, which read no variable for it, need the token in their address. Default never. */
  readonly tokenInUrl?: () => boolean;
}

/**
 * How a local worker finds the engine and gets in. III_URL is compatibility: the published clients read it (decision 29). A worker whose entry
 * names a token of its own, which may open less, gets the engine's nowhere.
 */
export function addressVariables(facts: AddressFacts, entryEnv: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { bridgeUrl, tokenInUrl } = facts;
  const url = bridgeUrl();
  const token = entryEnv.SVC_TOKEN ?? facts.token;
  if (token === undefined || token === "") return { SVC_URL: url, III_URL: url };
  return { SVC_URL: url, III_URL: tokenInUrl?.() === true ? withToken(url, token) : url, SVC_TOKEN: token };
}

function withToken(url: string, token: string): string {
  return url.replace("://", `://svc:${encodeURIComponent(token)}@`);
}
