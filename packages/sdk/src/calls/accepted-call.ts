import type { CallError, Caller, ChannelRef, Job } from "@svc-runtime/protocol/client";
import { mayHoldChannelRefs } from "../channels/revive-channel-refs.ts";
import type { InboundCall } from "../connection/inbound.ts";

/** An inbound call that is about to run. */
export interface AcceptedCall {
  readonly invocationId: string;
  readonly functionId: string;
  readonly payload: unknown;
  /** False if the payload contains no channel reference. True if it may contain one. */
  readonly mayHoldChannels: boolean;
  readonly metadata: unknown;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  readonly caller: Caller | undefined;
  readonly job: Job | undefined;
  /** Channel ends in the payload. They are aborted if the call is cancelled. */
  readonly ends?: readonly { readonly ref: ChannelRef; readonly wasUsed?: boolean; breakOff(error: CallError): void }[];
}

/** Reads the members of a call. `invocationId` is the call's id. If the engine sent no id, it is a new one. */
export function acceptedCall({ functionId, members, frame }: InboundCall, invocationId: string): AcceptedCall {
  return {
    invocationId,
    functionId,
    payload: members.data ?? null,
    mayHoldChannels: mayHoldChannelRefs(frame),
    metadata: members.metadata ?? undefined,
    traceparent: optionalString(members.traceparent),
    baggage: optionalString(members.baggage),
    caller: callerOf(members.caller),
    job: jobOf(members.job),
  };
}

function optionalString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function callerOf(value: unknown): Caller | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { worker_id, name } = value as Readonly<Record<string, unknown>>;
  return typeof worker_id === "string" && typeof name === "string" ? { worker_id, name } : undefined;
}

function jobOf(value: unknown): Job | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { queue, id, attempt } = value as Readonly<Record<string, unknown>>;
  return typeof queue === "string" && typeof id === "string" && typeof attempt === "number"
    ? { queue, id, attempt }
    : undefined;
}
