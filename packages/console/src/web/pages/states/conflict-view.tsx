import { useMemo } from "react";
import { formatJson, parseJson } from "../../lib/json.ts";
import { pretty } from "../../lib/json-text.ts";
import { maskedJson } from "../../lib/secrets.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { MaskedDiff } from "./masked-diff.tsx";
import { mergeJson } from "./merge-json.ts";
import type { Draft, Entry } from "./model.ts";

/** Resolves an edit conflict: shows the base, their version and my draft. Choosing one stores nothing yet. */
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
  return (
    <section aria-labelledby="conflict" className="flex min-h-0 flex-1 flex-col gap-3 overflow-auto p-3">
      <div>
        <h3 id="conflict" className="font-medium text-warn">
          Edit conflict
        </h3>
        <p className="text-ink-2">
          <code>{itemKey}</code> of <code>{group}</code> was{" "}
          {theirs === null ? "deleted" : `changed to version ${theirs.version}`} while you edited
          {draft.base === null ? " it" : ` version ${draft.base.version}`}. No change is lost: choose a version, then
          save it.
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button onClick={onTakeTheirs} title="Discard your edits">
          Take theirs
        </Button>
        <Button onClick={onKeepMine} title="Keep editing your version; saving replaces theirs">
          Keep mine
        </Button>
        {merged !== undefined && (
          <Button look="primary" onClick={() => onMerge(merged.text)}>
            Merge
          </Button>
        )}
        <Button look="ghost" onClick={onClose}>
          Back
        </Button>
      </div>
      {merged !== undefined && (
        <p className="text-ink-2">
          {merged.conflicts.length === 0 ? (
            <Badge tone="ok">Merges without conflicts</Badge>
          ) : (
            <>
              <Badge tone="warn">Conflicting changes</Badge> Merge keeps yours at{" "}
              <code className="break-all">{merged.conflicts.join(", ")}</code>.
            </>
          )}
        </p>
      )}
      <Side title="Theirs compared with base">
        {theirs === null ? (
          <p className="text-ink-2">The item is deleted.</p>
        ) : (
          <MaskedDiff
            label="Theirs compared with base"
            before={base}
            after={pretty(theirs.json)}
            className="max-h-72"
            {...{ itemKey, isRevealed, onReveal }}
          />
        )}
      </Side>
      <Side title="Mine compared with base">
        <MaskedDiff
          label="Mine compared with base"
          before={base}
          after={draft.text}
          className="max-h-72"
          {...{ itemKey, isRevealed, onReveal }}
        />
      </Side>
      <Side title="Base: the version you started from">
        <ScrollArea label="Base" className="max-h-72 rounded-md bg-raised p-2">
          <pre className="whitespace-pre-wrap break-words">
            {base === "" ? "The item did not exist." : isRevealed ? base : maskedJson(itemKey, base)}
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

/** Returns undefined if the two cannot be merged: one side is deleted or not JSON, or a text contains `__proto__`. */
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
