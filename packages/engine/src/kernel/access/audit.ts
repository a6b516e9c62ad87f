import type { Session } from "../session.ts";
import type { SessionAccess } from "./session-access.ts";

/** Logs a denied action of a connection, rate-limited by ThrottledLog. */
export function auditDenial(session: Session, access: SessionAccess, denial: { readonly action: string; readonly id: string; readonly reason: string }): void {
  session.warn("access denied", {
    ...denial,
    subject: access.grants.subject,
    workerName: session.name,
    remoteAddress: session.remoteAddress,
  });
}
