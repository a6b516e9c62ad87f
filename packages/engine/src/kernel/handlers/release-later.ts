import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";

/** How long after it is unregistered the id of a trusted worker becomes free, in milliseconds. */
const RELEASE_AFTER_MS = 60_000;

/**
 * Releases a reserved id a minute after its worker unregistered it. SDKs unregister everything when they shut down, so an id whose connection ends within this
 * minute stays reserved; a connection that finishes its last calls for longer has no other functions, which `release` checks.
 */
export function releaseLater(session: Session, kernel: Kernel, release: () => void): void {
  if (!session.principal.isTrusted) return;
  const cancel = session.scope.add(
    kernel.clock.after(RELEASE_AFTER_MS, () => {
      cancel();
      release();
    }),
  );
}
