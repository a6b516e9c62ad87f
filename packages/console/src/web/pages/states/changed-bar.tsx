import { useState } from "react";
import { pretty } from "../../lib/json-text.ts";
import { Button } from "../../ui/button.tsx";
import { MaskedDiff } from "./masked-diff.tsx";
import type { Entry } from "./model.ts";

/** Shown when the open item was changed or deleted elsewhere. With unsaved edits it offers to resolve the conflict. */
export function ChangedBar({
  before,
  now,
  isDirty,
  isRevealed,
  onReveal,
  onResolve,
  onDismiss,
}: {
  readonly before: Entry;
  readonly now: Entry | null;
  readonly isDirty: boolean;
  readonly isRevealed: boolean;
  readonly onReveal: () => void;
  readonly onResolve: () => void;
  readonly onDismiss: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div role="status" className="flex flex-col gap-2 border-line border-b bg-warn-soft px-3 py-1.5 text-warn">
      <div className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 flex-1">
          {now === null ? "Deleted elsewhere." : `Changed elsewhere: version ${before.version} is now ${now.version}.`}
          {isDirty && " Your edits are kept."}
        </span>
        {now !== null && (
          <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide diff" : "View diff"}
          </Button>
        )}
        {isDirty ? (
          <Button onClick={onResolve}>Resolve …</Button>
        ) : (
          <Button look="ghost" className="text-warn" onClick={onDismiss}>
            Dismiss
          </Button>
        )}
      </div>
      {isOpen && now !== null && (
        <MaskedDiff
          itemKey={now.key}
          label="Changes made elsewhere"
          before={pretty(before.json)}
          after={pretty(now.json)}
          className="max-h-60"
          {...{ isRevealed, onReveal }}
        />
      )}
    </div>
  );
}
