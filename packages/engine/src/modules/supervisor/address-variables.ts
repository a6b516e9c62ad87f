export interface AddressFacts {
  /** Where workers connect to, e.g. `ws://localhost:49134`. Asked at each start of a process. */
  readonly bridgeUrl: () => string;
  /** The engine's token, for the workers. Absent: they get none. */
  readonly token?: string | undefined;
  /** True when published clients, which read no variable for it, need the token in their address. Default never. */
  readonly tokenInUrl?: () => boolean;
}

/** How a local worker finds the engine and gets in. III_URL is compatibility: the published clients read it (decision 29). */
export function addressVariables({ bridgeUrl, token, tokenInUrl }: AddressFacts): Readonly<Record<string, string>> {
  const url = bridgeUrl();
  if (token === undefined) return { SVC_URL: url, III_URL: url };
  return { SVC_URL: url, III_URL: tokenInUrl?.() === true ? withToken(url, token) : url, SVC_TOKEN: token };
}

function withToken(url: string, token: string): string {
  return url.replace("://", `://svc:${encodeURIComponent(token)}@`);
}
