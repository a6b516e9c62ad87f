import { CallError } from "@svc-runtime/protocol";
import type { FormatCheck } from "../format-check.ts";
import type { Session } from "../session.ts";

/** Notifies a worker that its registration succeeded, but the engine cannot validate payloads by the format in it. */
export function reportFormatProblem(
  check: FormatCheck | undefined,
  registration: { readonly type: string; readonly id: string },
  session: Session,
): void {
  if (check?.problem === undefined) return;
  const { type, id } = registration;
  const problem = `${id} is registered, but payloads are not checked by its format: ${check.problem}`;
  session.warn("a format cannot be enforced", { messageType: type, id, problem: check.problem });
  session.sendError(new CallError("format_not_enforced", problem, { details: { message_type: type, id } }));
}
