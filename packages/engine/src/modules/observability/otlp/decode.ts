import type { Signal } from "../../../kernel/telemetry-contract.ts";
import type { DecodeContext } from "./decode-context.ts";
import { decodeLogs } from "./decode-logs.ts";
import { decodeMetrics } from "./decode-metrics.ts";
import { decodeTraces } from "./decode-traces.ts";

/**
 * Reads an export request that is parsed and not trusted, lenient in form: missing lists, nulls, integers as numbers or text. Hands each record
 * to its sink and yields after it, so that whoever reads can stop for a while: true, or false for one that was refused, which spoils no other.
 */
export function decode(signal: Signal, body: unknown, context: DecodeContext): Generator<boolean> {
  switch (signal) {
    case "traces":
      return decodeTraces(body, context);
    case "logs":
      return decodeLogs(body, context);
    case "metrics":
      return decodeMetrics(body, context);
  }
}
