import { useState } from "react";
import { t } from "../../labels/translate.ts";
import { pretty } from "../../lib/json-text.ts";
import { Button } from "../../ui/button.tsx";
import { MaskedDiff } from "./masked-diff.tsx";
import type { Entry } from "./model.ts";

/**
 * Bar that is shown if the open item was changed or deleted elsewhere. If there are unsaved edits, it offers to resolve
 * the conflict.
 */
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
          {now === null
            ? t`Deleted elsewhere.`
            : t`Changed elsewhere: version ${String(before.version)} is now ${String(now.version)}.`}
          {isDirty && t` Your edits are kept.`}
        </span>
        {now !== null && (
          <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? t`Hide diff` : t`View diff`}
          </Button>
        )}
        {isDirty ? (
          <Button onClick={onResolve}>{t`Resolve …`}</Button>
        ) : (
          <Button look="ghost" className="text-warn" onClick={onDismiss}>
            {t`Dismiss`}
          </Button>
        )}
      </div>
      {isOpen && now !== null && (
        <MaskedDiff
          itemKey={now.key}
          label={t`Changes made elsewhere`}
          before={pretty(before.json)}
          after={pretty(now.json)}
          className="max-h-60"
          {...{ isRevealed, onReveal }}
        />
      )}
    </div>
  );
}
