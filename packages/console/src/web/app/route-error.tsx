import { useState } from "react";
import { ApiFailure, hello } from "../lib/api.ts";
import { ErrorState } from "../ui/data-region.tsx";

/** The code of a page or of a part of it did not come; what browsers say of it differs. */
const NOT_LOADED = /dynamically imported module|importing a module script failed|error loading dynamically/i;

export class LoadFailure extends Error {
  constructor(cause: unknown) {
    super("the code of this page could not be loaded from the console's server", { cause });
    this.name = "LoadFailure";
  }
}

/** Takes the place of a page that failed. */
export function RouteError({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  const [stillAway, setStillAway] = useState<Error>();
  const failure = error instanceof Error ? error : new Error(String(error));
  if (!(failure instanceof LoadFailure) && !NOT_LOADED.test(failure.message)) return <ErrorState error={failure} retry={reset} />;
  // Browsers keep a module that failed as failed, and another console has other files: the page begins anew, but only once there is somebody to have it from.
  const retry = (): void => {
    void hello().then(
      () => location.reload(),
      (cause: Error) => (cause instanceof ApiFailure && cause.code === "network" ? setStillAway(cause) : location.reload()),
    );
  };
  return <ErrorState error={stillAway ?? (failure instanceof LoadFailure ? failure : new LoadFailure(failure))} retry={retry} />;
}
