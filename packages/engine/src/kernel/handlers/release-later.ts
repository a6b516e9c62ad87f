import type { Clock } from "../clock.ts";
import type { Session } from "../session.ts";

/** Delay before the unregistered id of a trusted worker becomes free, in milliseconds. */
const RELEASE_AFTER_MS = 60_000;

/**
 * Releases a reserved id a minute after its worker unregistered it. SDKs unregister everything at shutdown, so an id
 * whose connection ends within this minute stays reserved. A connection that takes longer to finish its last calls has
 * no other functions, which `release` checks.
 */
export function releaseLater(session: Session, clock: Clock, release: () => void): void {
  if (!session.principal.isTrusted) return;
  const cancel = session.scope.add(
    clock.after(RELEASE_AFTER_MS, () => {
      cancel();
      release();
    }),
  );
}
