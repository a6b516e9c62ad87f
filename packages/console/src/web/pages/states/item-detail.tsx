import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { isSameJson, pretty } from "../../lib/json-text.ts";
import { maskedJson } from "../../lib/secrets.ts";
import { useLiveCollection } from "../../lib/use-live.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { ChangedBar } from "./changed-bar.tsx";
import { ConflictView } from "./conflict-view.tsx";
import { DeletedItem } from "./deleted-item.tsx";
import { ItemEditor } from "./item-editor.tsx";
import { ItemHead } from "./item-head.tsx";
import { ItemValue } from "./item-value.tsx";
import type { Draft, Entry } from "./model.ts";
import { fetchEntry } from "./state-api.ts";
import { type Binding, triggersOf } from "./triggers.ts";
import { UnsavedGuard } from "./unsaved-guard.tsx";
import { useEntry, useRefetchEntry, useRefresh } from "./use-states.ts";

const route = getRouteApi("/states/{-$group}/{-$key}");

/** One item: its value and its editor. */
export default function ItemDetail({ group, itemKey }: { readonly group: string; readonly itemKey: string }) {
  const { tab = "value" } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useEntry(group, itemKey);
  const refresh = useRefresh();
  const refetch = useRefetchEntry(group, itemKey);
  const bindings = useLiveCollection<Binding>("svc.triggers", ({ id }) => id);
  const triggers = triggersOf(bindings.items, group, itemKey);
  // The entry that the user has seen. If the stored version is another one, the item was changed elsewhere.
  const [known, setKnown] = useState<Entry | undefined>();
  const [draft, setDraft] = useState<Draft | undefined>();
  const [conflict, setConflict] = useState<{ readonly theirs: Entry | null } | undefined>();
  // After a save, `known` is newer than the query's result for one rendering.
  const entry = known !== undefined && isAhead(known, query.data) ? known : query.data;
  if (known === undefined && entry) setKnown(entry);
  // The last value. It is shown after the item was deleted.
  const [last, setLast] = useState<Entry | undefined>();
  if (entry && entry !== last) setLast(entry);
  // Applies to the whole item: to the editor, and to the diff with changes made elsewhere.
  const [isRevealed, setRevealed] = useState(false);
  const reveal = (): void => setRevealed(true);
  const edited = draft?.base ?? entry ?? undefined;
  const hasSecrets = useMemo(
    () => edited !== undefined && maskedJson(itemKey, edited.json) !== edited.json,
    [itemKey, edited],
  );
  const isDirty = draft !== undefined && !isSameJson(draft.text, textOf(draft.base));
  const baseline = isDirty ? (draft.base ?? undefined) : known;

  const settle = async (): Promise<void> => {
    // The draft is kept until the new entry has arrived. Otherwise the editor would show the old value for a moment.
    const now = await refetch();
    setDraft(undefined);
    setConflict(undefined);
    setKnown(now ?? undefined);
    await refresh();
  };
  const showUndone = async (): Promise<void> => {
    setKnown((await refetch()) ?? undefined);
    await refresh();
  };
  const showConflict = async (): Promise<void> => setConflict({ theirs: await fetchEntry(group, itemKey) });

  const editor = (base: Entry | null) => (
    <ItemEditor
      group={group}
      itemKey={itemKey}
      base={draft?.base ?? base}
      text={draft?.text ?? textOf(base)}
      isDirty={isDirty}
      isMasked={hasSecrets && !isRevealed}
      onReveal={reveal}
      triggers={triggers}
      onChange={(text) => setDraft({ base: draft === undefined ? base : draft.base, text })}
      onDiscard={() => setDraft(undefined)}
      onSaved={settle}
      onUndone={showUndone}
      onConflict={showConflict}
    />
  );
  return (
    <div className="flex h-full min-h-0 flex-col">
      <DataRegion
        loading={query.data === undefined}
        error={query.error}
        retry={() => void query.refetch()}
        empty={entry === null && known === undefined && draft === undefined}
        emptyState={
          <EmptyState title={t`Item not found`}>
            {rich`The group ${<code>{group}</code>} has no key ${<code>{itemKey}</code>}.`}
          </EmptyState>
        }
      >
        <UnsavedGuard isDirty={isDirty} />
        {conflict !== undefined && draft !== undefined ? (
          <ConflictView
            group={group}
            itemKey={itemKey}
            draft={draft}
            theirs={conflict.theirs}
            isRevealed={isRevealed}
            onReveal={reveal}
            onTakeTheirs={() => void settle()}
            onKeepMine={() => {
              setDraft({ base: conflict.theirs, text: draft.text });
              setConflict(undefined);
            }}
            onMerge={(text) => {
              setDraft({ base: conflict.theirs, text });
              setConflict(undefined);
            }}
            onClose={() => setConflict(undefined)}
          />
        ) : entry === null && draft === undefined && last !== undefined ? (
          <DeletedItem group={group} last={last} onRestored={settle} />
        ) : (
          <>
            {entry && (
              <ItemHead group={group} entry={entry} triggers={triggers} onDeleted={() => setDraft(undefined)} />
            )}
            {baseline !== undefined && entry !== undefined && entry?.version !== baseline.version && (
              <ChangedBar
                before={baseline}
                now={entry}
                isDirty={isDirty}
                isRevealed={isRevealed}
                onReveal={reveal}
                onResolve={() => void showConflict()}
                onDismiss={() => setKnown(entry ?? undefined)}
              />
            )}
            <Tabs
              label={t`Item`}
              value={tab}
              onChange={(next) =>
                void navigate({
                  search: (before) => ({ ...before, tab: next === "value" ? undefined : next }),
                  replace: true,
                })
              }
              tabs={[
                {
                  value: "value",
                  label: t`Value`,
                  content: entry ? (
                    <ItemValue entry={entry} />
                  ) : (
                    <p className="p-4 text-ink-2">{t`The item was deleted.`}</p>
                  ),
                },
                { value: "edit", label: isDirty ? t`Edit (not saved)` : t`Edit`, content: editor(entry ?? null) },
              ]}
            />
          </>
        )}
      </DataRegion>
    </div>
  );
}

function isAhead(known: Entry, fetched: Entry | null | undefined): boolean {
  return fetched != null && known.version > fetched.version && known.updatedAtMs >= fetched.updatedAtMs;
}

/** Returns the editor's initial text. */
function textOf(base: Entry | null): string {
  return base === null ? "" : pretty(base.json);
}
