/** What the operator allows; see `engine.http_functions` of the config file. Read at each use, since the file may change. */
export interface HttpFunctionRules {
  /** Host globs and URL patterns; empty allows every address. */
  readonly urlAllowlist: readonly string[];
  readonly blockPrivateIps: boolean;
  readonly requireHttps: boolean;
  /** Further attempts after one that could not connect. */
  readonly retries: number;
}
