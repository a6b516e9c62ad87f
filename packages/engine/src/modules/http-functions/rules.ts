import type { OutboundRules } from "../../kernel/module.ts";

/** What the operator allows; see `engine.http_functions` of the config file. Read at each use, since the file may change. */
export interface HttpFunctionRules extends OutboundRules {
  /** Further attempts after one that could not connect. */
  readonly retries: number;
}
