import type { CallerAccess, ModuleContext } from "@svc-runtime/engine/module";
import type { SecretMask } from "@svc-runtime/protocol";
import { z } from "zod";
import { type SeesCall, seesCall } from "../query/sees-call.ts";
import type { InvocationHistory } from "./invocation-history.ts";
import { errorsQuerySchema, invocationsQuerySchema, text } from "./invocation-input.ts";

/** `engine::invocations::*`. A restricted caller sees only calls of functions that it may call. */
export function provideInvocations(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  parts: { readonly history: InvocationHistory; readonly redactor: () => SecretMask; readonly now: () => number },
): void {
  const queries = () => import("./invocation-queries.ts");
  provideFunction({
    id: "engine::invocations::list",
    summary: "The last calls, newest first",
    input: invocationsQuerySchema,
    handle: async (query, { access }) => (await queries()).listInvocations(parts.history, query, seen(access)),
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
    handle: async ({ invocation_id }, { access }) =>
      (await queries()).getInvocation(parts.history, invocation_id, seen(access), parts.redactor()),
  });
}

function seen(access: CallerAccess | undefined): SeesCall {
  return access === undefined ? () => true : seesCall(access);
}
