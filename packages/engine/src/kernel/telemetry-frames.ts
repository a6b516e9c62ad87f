import type { Signal } from "./telemetry-contract.ts";

/** A telemetry frame begins with four ASCII letters; OTLP/JSON follows (protocol section 9). */
export const SIGNAL_PREFIX_BYTES = 4;

const SIGNALS: ReadonlyMap<string, Signal> = new Map([
  ["OTLP", "traces"],
  ["MTRC", "metrics"],
  ["LOGS", "logs"],
]);

/** Returns the signal of a binary frame; undefined if it is not a telemetry frame. */
export function signalOfFrame(bytes: Buffer): Signal | undefined {
  return SIGNALS.get(bytes.toString("latin1", 0, SIGNAL_PREFIX_BYTES));
}
