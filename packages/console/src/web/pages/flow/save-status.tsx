import { isModuleMissing } from "../../ui/module-missing.tsx";
import { Timestamp } from "../../ui/time.tsx";
import type { SavedLayout } from "./layout/use-saved-layout.ts";

/** Save status of the layout. */
export function SaveStatus({ layout: { state, saveAnyway, reload } }: { readonly layout: SavedLayout }) {
  const action = (text: string, run: () => void) => (
    <button type="button" className="underline" onClick={run}>
      {text}
    </button>
  );
  switch (state.kind) {
    case "loading":
      return null;
    case "saved":
      return (
        <span className="text-ink-3">
          {state.atMs === undefined ? (
            "Automatic layout"
          ) : (
            <>
              Layout saved <Timestamp ms={state.atMs} withMs={false} />
            </>
          )}
        </span>
      );
    case "waiting":
    case "saving":
      return <span className="text-ink-3">Saving the layout…</span>;
    case "conflict":
      return (
        <span role="alert" className="flex flex-wrap gap-x-2 text-warn">
          Another browser saved this layout. {action("Load it", reload)} {action("Overwrite it", saveAnyway)}
        </span>
      );
    case "refused":
      return <span className="text-warn">Layout not saved: {state.reason}.</span>;
    case "load-failed":
    case "save-failed":
      return (
        <span role="alert" className="flex flex-wrap gap-x-2 text-danger">
          {isModuleMissing(state.error) ? (
            <>
              The layout cannot be saved: the engine runs without svc-state. Add{" "}
              <code>workers: [&#123; name: svc-state &#125;]</code> to its config.yaml.
            </>
          ) : (
            <>
              {state.kind === "load-failed" ? "Failed to load the layout" : "Failed to save the layout"}:{" "}
              {state.error.message}.
            </>
          )}{" "}
          {action("Try again", state.kind === "load-failed" ? reload : saveAnyway)}
        </span>
      );
  }
}
