import { useMemo } from "react";
import { formatJson, parseJson } from "../../lib/json.ts";
import { pretty } from "../../lib/json-text.ts";
import { maskedJson } from "../../lib/secrets.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { MaskedDiff } from "./masked-diff.tsx";
import { mergeJson } from "./merge.ts";
import type { Draft, Entry } from "./model.ts";

/** Two have changed one item: the base, what the other made of it, what is typed here, and the ways on. Nothing is stored by any of them yet. */
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
  const merged = useMemo(() => join(draft, theirs), [draft, theirs]);
  return (
    <section aria-labelledby="conflict" className="flex min-h-0 flex-1 flex-col gap-3 overflow-auto p-3">
      <div>
        <h3 id="conflict" className="font-medium text-warn">
          Changed by two
        </h3>
        <p className="text-ink-2">
          <code>{itemKey}</code> of <code>{group}</code> was {theirs === null ? "deleted" : `changed to version ${theirs.version}`} while you edited
          {draft.base === null ? " it" : ` version ${draft.base.version}`}. Nothing is lost: choose how to go on; it is stored when you save.
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button onClick={onTakeTheirs} title="Forgets what was typed here">
          Take theirs
        </Button>
        <Button onClick={onKeepMine} title="Goes on editing yours; saving it replaces theirs">
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
            <Badge tone="ok">Merge joins both without a clash</Badge>
          ) : (
            <>
              <Badge tone="warn">Both changed the same</Badge> Merge takes yours at <code className="break-all">{merged.conflicts.join(", ")}</code>.
            </>
          )}
        </p>
      )}
      <Side title="Theirs, against the base">
        {theirs === null ? (
          <p className="text-ink-2">The item is deleted.</p>
        ) : (
          <MaskedDiff label="Theirs against the base" before={base} after={pretty(theirs.json)} className="max-h-72" {...{ itemKey, isRevealed, onReveal }} />
        )}
      </Side>
      <Side title="Mine, against the base">
        <MaskedDiff label="Mine against the base" before={base} after={draft.text} className="max-h-72" {...{ itemKey, isRevealed, onReveal }} />
      </Side>
      <Side title="Base: what you began from">
        <ScrollArea label="Base" className="max-h-72 rounded-md bg-raised p-2">
          <pre className="whitespace-pre-wrap break-words">{base === "" ? "There was no item." : isRevealed ? base : maskedJson(itemKey, base)}</pre>
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

/** Undefined where there is nothing to join: one of them is gone, or no JSON. */
function join({ base, text }: Draft, theirs: Entry | null): { readonly text: string; readonly conflicts: readonly string[] } | undefined {
  if (base === null || theirs === null || [base.json, theirs.json, text].some((json) => json.includes("__proto__"))) return undefined;
  try {
    const { value, conflicts } = mergeJson(parseJson(base.json), parseJson(text), parseJson(theirs.json));
    return { text: formatJson(value), conflicts };
  } catch {
    return undefined;
  }
}
