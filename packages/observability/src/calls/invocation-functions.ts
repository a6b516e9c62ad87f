import type { CallerAccess, ModuleContext } from "@svc-runtime/engine/module";
import type { SecretMask } from "@svc-runtime/protocol";
import { z } from "zod";
import { type SeesCall, seesCall } from "../query/sees-call.ts";
import type { SpanStore } from "../spans/span-store.ts";
import type { InvocationHistory } from "./invocation-history.ts";
import { errorsQuerySchema, invocationsQuerySchema, text } from "./invocation-input.ts";

/** Provides `engine::invocations::*`. A restricted caller sees only calls of functions that it may call. */
export function provideInvocations(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  parts: {
    readonly history: InvocationHistory;
    readonly redactor: () => SecretMask;
    readonly now: () => number;
    /**
     * Returns the stored spans, which include calls that the history no longer has; undefined if spans are not stored.
     */
    readonly spans: () => SpanStore | undefined;
  },
): void {
  const queries = () => import("./invocation-queries.ts");
  const onDisk = (): SpanStore | undefined => {
    const store = parts.spans();
    return store?.storage === "disk" ? store : undefined;
  };
  provideFunction({
    id: "engine::invocations::list",
    summary: "The last calls, newest first; after them those whose spans are on disk",
    input: invocationsQuerySchema,
    async handle(query, { access }) {
      const { listInvocations, listWithStored } = await queries();
      const store = onDisk();
      return store === undefined
        ? listInvocations(parts.history, query, seen(access))
        : listWithStored(parts.history, store, query, { sees: seen(access), isRestricted: access !== undefined });
    },
  });
  provideFunction({
    id: "engine::invocations::errors",
    summary: "Failed calls grouped by cause: function, code and message without its numbers; the latest first",
    input: errorsQuerySchema,
    handle: async (query, { access }) =>
      (await import("./error-causes.ts")).errorCauses(parts.history, query, seen(access), parts.now()),
  });
  provideFunction({
    id: "engine::invocations::get",
    summary: "One call with its input, its output or its error; null if it is not found",
    input: () => z.object({ invocation_id: text }),
    async handle({ invocation_id }, { access }) {
      const sees = seen(access);
      const found = (await queries()).getInvocation(parts.history, invocation_id, sees, parts.redactor());
      const store = found === null ? onDisk() : undefined;
      return store === undefined
        ? found
        : (await import("./stored-invocations.ts")).getStored(store, invocation_id, sees);
    },
  });
}

function seen(access: CallerAccess | undefined): SeesCall {
  return access === undefined ? () => true : seesCall(access);
}
