import { JetStreamApiError } from "@nats-io/jetstream";
import { LogUnavailable } from "../../store/log.ts";

/** Error codes of JetStream. */
export const codes = {
  streamNotFound: 10_059,
  streamExists: 10_058,
  noMessage: 10_037,
  /** An earlier append of the same entry is still in progress. */
  duplicateUnderWay: 10_158,
  wrongLastSequence: 10_071,
  /** Code of the same error in newer servers. */
  wrongLastSequenceConstant: 10_164,
} as const;

/** Returns the code of an error of JetStream. Returns undefined for other errors. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined;
}

/**
 * True if the server rejected a message because other messages were stored after the one that the sender expected to be
 * the last.
 */
export function isWrongSequence(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.wrongLastSequence || code === codes.wrongLastSequenceConstant;
}

/** Returns the error that a log or its snapshots report while the servers cannot be used. */
export function unavailable(error: unknown): LogUnavailable {
  return new LogUnavailable(error instanceof Error ? error.message : String(error), { cause: error });
}
