import type { InvocationListing } from "@svc-runtime/protocol/listings";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../../lib/api.ts";
import { useLiveState } from "../../../lib/use-live.ts";
import type { Tone } from "../../../ui/badge.tsx";

export interface Preview {
  /** JSON text. If `truncated` is set, only its beginning. */
  readonly json: string;
  readonly truncated: boolean;
}

/** An invocation of `engine::invocations::get`, with input and output. */
export interface InvocationDetail extends Omit<InvocationListing, "error"> {
  readonly input: Preview | null;
  readonly output: Preview | null;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly stacktrace?: string;
    readonly details?: Readonly<Record<string, unknown>>;
  } | null;
}

export const INVOCATION_TONES: Readonly<Record<InvocationListing["status"], Tone>> = {
  ok: "ok",
  error: "danger",
  pending: "info",
  cancelled: "neutral",
  timeout: "warn",
};

const EVERY_MS = 3_000;
const PAGE = 50;

interface Page {
  readonly invocations: readonly InvocationListing[];
  readonly cursor: string | null;
  readonly total: number;
  /** True if there are more: calls on disk are counted only when they are listed. */
  readonly total_is_lower_bound?: true;
}

/**
 * Invocations of a function from all sources, the latest first. Polled every 3 s while only the first page is loaded.
 */
export function useHistory(functionId: string, status: string | undefined, source: string | undefined) {
  const { phase } = useLiveState();
  return useInfiniteQuery({
    queryKey: ["engine::invocations::list", functionId, status, source],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      call<Page>(
        "engine::invocations::list",
        {
          function_id: functionId,
          limit: PAGE,
          ...(status === undefined ? {} : { status }),
          ...(source === undefined ? {} : { source }),
          ...(pageParam === null ? {} : { cursor: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: ({ cursor }) => cursor,
    refetchInterval: (query) => (phase === "live" && (query.state.data?.pages.length ?? 0) <= 1 ? EVERY_MS : false),
    enabled: phase === "live",
  });
}

export function useInvocation(invocationId: string) {
  return useQuery({
    queryKey: ["engine::invocations::get", invocationId],
    queryFn: ({ signal }) =>
      call<InvocationDetail | null>("engine::invocations::get", { invocation_id: invocationId }, { signal }),
    refetchInterval: (query) => (query.state.data?.status === "pending" ? EVERY_MS : false),
  });
}
