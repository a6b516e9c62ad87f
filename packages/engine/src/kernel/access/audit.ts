import type { Session } from "../session.ts";
import type { SessionAccess } from "./session-access.ts";

/** One line in the engine's log for each thing that a connection was denied. */
export function auditDenial(session: Session, access: SessionAccess, denial: { readonly action: string; readonly id: string; readonly reason: string }): void {
  session.log.warn("access denied", {
    ...denial,
    subject: access.grants.subject,
    workerName: session.name,
    remoteAddress: session.remoteAddress,
  });
}
