import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
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
          {state.atMs === undefined
            ? t`Automatic layout`
            : rich`Layout saved ${<Timestamp ms={state.atMs} withMs={false} />}`}
        </span>
      );
    case "waiting":
    case "saving":
      return <span className="text-ink-3">{t`Saving the layout…`}</span>;
    case "conflict":
      return (
        <span role="alert" className="flex flex-wrap gap-x-2 text-warn">
          {rich`Another browser saved this layout. ${action(t`Load it`, reload)} ${action(t`Overwrite it`, saveAnyway)}`}
        </span>
      );
    case "refused":
      return <span className="text-warn">{t`Layout not saved: ${state.reason}.`}</span>;
    case "load-failed":
    case "save-failed":
      return (
        <span role="alert" className="flex flex-wrap gap-x-2 text-danger">
          {isModuleMissing(state.error)
            ? rich`The layout cannot be saved: the engine runs without svc-state. Add ${<code>workers: [&#123; name: svc-state &#125;]</code>} to its config.yaml.`
            : state.kind === "load-failed"
              ? t`Failed to load the layout: ${state.error.message}.`
              : t`Failed to save the layout: ${state.error.message}.`}{" "}
          {action(t`Try again`, state.kind === "load-failed" ? reload : saveAnyway)}
        </span>
      );
  }
}
