import { useState } from "react";
import { t } from "../labels/translate.ts";
import { ApiFailure, hello } from "../lib/api.ts";
import { ErrorState } from "../ui/data-region.tsx";

/** Matches the messages with which browsers report that code failed to load. */
const NOT_LOADED = /dynamically imported module|importing a module script failed|error loading dynamically/i;

export class LoadFailure extends Error {
  constructor(cause: unknown) {
    super(t`the code of this page could not be loaded from the console's server`, { cause });
    this.name = "LoadFailure";
  }
}

/** Error message that is shown instead of a page that failed. */
export function RouteError({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  const [stillFailing, setStillFailing] = useState<Error>();
  const failure = error instanceof Error ? error : new Error(String(error));
  if (!(failure instanceof LoadFailure) && !NOT_LOADED.test(failure.message))
    return <ErrorState error={failure} retry={reset} />;
  // The page is reloaded, because browsers cache a failed module, and because a restarted console has other files. It
  // is reloaded only when the console responds.
  const retry = (): void => {
    void hello().then(
      () => location.reload(),
      (cause: Error) =>
        cause instanceof ApiFailure && cause.code === "network" ? setStillFailing(cause) : location.reload(),
    );
  };
  return (
    <ErrorState
      error={stillFailing ?? (failure instanceof LoadFailure ? failure : new LoadFailure(failure))}
      retry={retry}
    />
  );
}
