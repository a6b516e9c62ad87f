import { useMemo } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { formatJson, parseJson } from "../../lib/json.ts";
import { pretty } from "../../lib/json-text.ts";
import { maskedJson } from "../../lib/secrets.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { MaskedDiff } from "./masked-diff.tsx";
import { mergeJson } from "./merge-json.ts";
import type { Draft, Entry } from "./model.ts";

/**
 * Resolves an edit conflict. It shows three versions: the base (from which the edit started), the stored one (theirs)
 * and the edited one (mine). A choice stores nothing yet.
 */
export function ConflictView({
  group,
  itemKey,
  draft,
  theirs,
  isRevealed,
  onReveal,
  onTakeTheirs,
  onKeepMine,
  onMerge,
  onClose,
}: {
  readonly group: string;
  readonly itemKey: string;
  readonly draft: Draft;
  readonly theirs: Entry | null;
  readonly isRevealed: boolean;
  readonly onReveal: () => void;
  readonly onTakeTheirs: () => void;
  readonly onKeepMine: () => void;
  readonly onMerge: (text: string) => void;
  readonly onClose: () => void;
}) {
  const base = draft.base === null ? "" : pretty(draft.base.json);
  const merged = useMemo(() => mergeDraft(draft, theirs), [draft, theirs]);
  const fate = theirs === null ? t`deleted` : t`changed to version ${String(theirs.version)}`;
  const edited = draft.base === null ? t`it` : t`version ${String(draft.base.version)}`;
  return (
    <section aria-labelledby="conflict" className="flex min-h-0 flex-1 flex-col gap-3 overflow-auto p-3">
      <div>
        <h3 id="conflict" className="font-medium text-warn">
          {t`Edit conflict`}
        </h3>
        <p className="text-ink-2">
          {rich`${<code>{itemKey}</code>} of ${<code>{group}</code>} was ${fate} while you edited ${edited}. No change is lost: choose a version, then save it.`}
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button onClick={onTakeTheirs} title={t`Discard your edits`}>
          {t`Take theirs`}
        </Button>
        <Button onClick={onKeepMine} title={t`Keep editing your version; saving replaces theirs`}>
          {t`Keep mine`}
        </Button>
        {merged !== undefined && (
          <Button look="primary" onClick={() => onMerge(merged.text)}>
            {t`Merge`}
          </Button>
        )}
        <Button look="ghost" onClick={onClose}>
          {t`Back`}
        </Button>
      </div>
      {merged !== undefined && (
        <p className="text-ink-2">
          {merged.conflicts.length === 0 ? (
            <Badge tone="ok">{t`Merges without conflicts`}</Badge>
          ) : (
            rich`${<Badge tone="warn">{t`Conflicting changes`}</Badge>} Merge keeps yours at ${<code className="break-all">{merged.conflicts.join(", ")}</code>}.`
          )}
        </p>
      )}
      <Side title={t`Theirs compared with base`}>
        {theirs === null ? (
          <p className="text-ink-2">{t`The item is deleted.`}</p>
        ) : (
          <MaskedDiff
            label={t`Theirs compared with base`}
            before={base}
            after={pretty(theirs.json)}
            className="max-h-72"
            {...{ itemKey, isRevealed, onReveal }}
          />
        )}
      </Side>
      <Side title={t`Mine compared with base`}>
        <MaskedDiff
          label={t`Mine compared with base`}
          before={base}
          after={draft.text}
          className="max-h-72"
          {...{ itemKey, isRevealed, onReveal }}
        />
      </Side>
      <Side title={t`Base: the version you started from`}>
        <ScrollArea label={t`Base`} className="max-h-72 rounded-md bg-raised p-2">
          <pre className="whitespace-pre-wrap break-words">
            {base === "" ? t`The item did not exist.` : isRevealed ? base : maskedJson(itemKey, base)}
          </pre>
        </ScrollArea>
      </Side>
    </section>
  );
}

function Side({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <div className="flex flex-col gap-1">
      <h4 className="text-[12px] text-ink-2">{title}</h4>
      {children}
    </div>
  );
}

/**
 * Returns the merged text. Returns undefined if no merge is possible: one side is deleted or is not JSON, or a text
 * contains `__proto__`.
 */
function mergeDraft(
  { base, text }: Draft,
  theirs: Entry | null,
): { readonly text: string; readonly conflicts: readonly string[] } | undefined {
  if (base === null || theirs === null || [base.json, theirs.json, text].some((json) => json.includes("__proto__")))
    return undefined;
  try {
    const { value, conflicts } = mergeJson(parseJson(base.json), parseJson(text), parseJson(theirs.json));
    return { text: formatJson(value), conflicts };
  } catch {
    return undefined;
  }
}
