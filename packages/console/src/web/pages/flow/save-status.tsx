import { isModuleMissing } from "../../ui/module-missing.tsx";
import { Timestamp } from "../../ui/time.tsx";
import type { SavedLayout } from "./layout/use-saved-layout.ts";

/** Whether the layout is kept, in words. */
export function SaveStatus({ layout: { state, saveAnyway, reload } }: { readonly layout: SavedLayout }) {
  const retry = (text: string, run: () => void) => (
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
          Somebody else saved this layout meanwhile. {retry("Take theirs", reload)} {retry("Save mine", saveAnyway)}
        </span>
      );
    case "refused":
      return <span className="text-warn">Moved here only, not saved: {state.reason}.</span>;
    case "unread":
    case "failed":
      return (
        <span role="alert" className="flex flex-wrap gap-x-2 text-danger">
          {isModuleMissing(state.error) ? (
            <>
              The layout is not kept: the engine runs without svc-state. Add <code>workers: [&#123; name: svc-state &#125;]</code> to its config.yaml.
            </>
          ) : (
            <>
              {state.kind === "unread" ? "What is saved of the layout could not be read" : "The layout is not saved"}: {state.error.message}.
            </>
          )}{" "}
          {retry("Try again", state.kind === "unread" ? reload : saveAnyway)}
        </span>
      );
  }
}
