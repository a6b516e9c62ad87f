import { Download, Trash2 } from "lucide-react";
import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { plural, t } from "../../labels/translate.ts";
import { downloadText } from "../../lib/download-blob.ts";
import { useLiveCollection, useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import type { Entry } from "./model.ts";
import { lineOf, maskedLineOf } from "./ndjson.ts";
import { allItems, deleteGroup, deleteItems, restoreItems } from "./state-api.ts";
import { TriggerNote } from "./trigger-note.tsx";
import { type Binding, triggersOf } from "./triggers.ts";
import { useRefresh } from "./use-states.ts";

const NDJSON = "application/x-ndjson";

/** Buttons that export or delete the selected items, or all items of the group. */
export function ItemsActions({
  group,
  prefix,
  total,
  ticked,
  onDeleted,
}: {
  readonly group: string;
  readonly prefix: string;
  readonly total: number;
  readonly ticked: readonly Entry[];
  readonly onDeleted: () => void;
}) {
  const { phase, skewMs } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const refresh = useRefresh();
  const bindings = useLiveCollection<Binding>("svc.triggers", ({ id }) => id);
  const [asking, setAsking] = useState<"ticked" | "group" | undefined>();
  const [pending, setPending] = useState<"export" | "delete" | undefined>();
  const [problem, setProblem] = useState<string | undefined>();
  // Export for which the user has not yet chosen whether it includes secrets.
  const [exporting, setExporting] = useState<
    { readonly lines: readonly string[]; readonly masked: readonly string[] } | undefined
  >();

  const run = async (what: "export" | "delete", action: () => Promise<void>): Promise<void> => {
    setPending(what);
    setProblem(undefined);
    try {
      await action();
    } catch (thrown) {
      setProblem((thrown as Error).message);
    } finally {
      setPending(undefined);
    }
  };
  const exportAll = (): Promise<void> =>
    run("export", async () => {
      const lines: string[] = [];
      const masked: string[] = [];
      const add = (items: readonly Entry[]): void => {
        lines.push(...items.map((entry) => lineOf(group, entry)));
        masked.push(...items.map((entry) => maskedLineOf(group, entry)));
      };
      if (ticked.length > 0) add(ticked);
      else for await (const { items } of allItems(group, prefix, new AbortController().signal)) add(items);
      if (lines.every((line, at) => line === masked[at])) save(lines);
      else setExporting({ lines, masked });
    });
  const save = (lines: readonly string[]): void => {
    setExporting(undefined);
    downloadText(`${lines.join("\n")}\n`, `${group.replace(/[^\w.-]+/g, "_")}.ndjson`, NDJSON);
  };
  const remove = (): Promise<void> =>
    run("delete", async () => {
      if (asking === "ticked") {
        const deleted = await deleteItems(
          group,
          ticked.map(({ key }) => key),
        );
        toast(plural(deleted, "# item deleted from {0}", "# items deleted from {0}", group), {
          label: t`Undo`,
          run: () => void run("delete", () => restoreItems(group, ticked, Date.now() + skewMs).then(refresh)),
        });
      } else {
        const deleted = await deleteGroup(group);
        toast(t`The group ${group} is deleted: ${deleted} items`);
      }
      await refresh();
      setAsking(undefined);
      onDeleted();
    });

  const what = ticked.length > 0 ? t`${ticked.length} selected` : prefix === "" ? t`group` : t`matching items`;
  return (
    <div className="ml-auto flex items-center gap-1">
      <Button
        look="ghost"
        icon={<Download aria-hidden className="size-3.5" />}
        isPending={pending === "export"}
        disabled={total === 0}
        title={t`As lines of JSON (NDJSON)`}
        onClick={() => void exportAll()}
      >
        {t`Export ${what}`}
      </Button>
      <Button
        look="ghost"
        icon={<Trash2 aria-hidden className="size-3.5" />}
        disabledReason={refusal}
        disabled={total === 0}
        onClick={() => setAsking(ticked.length > 0 ? "ticked" : "group")}
      >
        {ticked.length > 0 ? t`Delete ${ticked.length} selected` : t`Delete group`}
      </Button>
      {problem !== undefined && asking === undefined && (
        <span role="alert" className="text-danger">
          {problem}
        </span>
      )}
      {exporting !== undefined && <ExportDialog {...exporting} onSave={save} onClose={() => setExporting(undefined)} />}
      {asking !== undefined && (
        <ConfirmDialog
          open
          onClose={() => {
            setAsking(undefined);
            setProblem(undefined);
          }}
          title={
            asking === "ticked"
              ? plural(ticked.length, "Delete # item of {0}?", "Delete # items of {0}?", group)
              : t`Delete the group ${group}?`
          }
          description={
            asking === "ticked" ? (
              <span className="break-words">{listed(ticked.map(({ key }) => key))}</span>
            ) : prefix === "" ? (
              t`This deletes all ${total} items of the group. It cannot be undone; export the group first to keep a copy.`
            ) : (
              t`This deletes all items of the group, including those hidden by the search. It cannot be undone; export the group first to keep a copy.`
            )
          }
          action={t`Delete`}
          typeToConfirm={group}
          isPending={pending === "delete"}
          refusal={refusal}
          onConfirm={() => void remove()}
        >
          <TriggerNote triggers={triggersOf(bindings.items, group)} />
          {problem !== undefined && (
            <p role="alert" className="mt-2 text-danger">
              {problem}
            </p>
          )}
        </ConfirmDialog>
      )}
    </div>
  );
}

function listed(keys: readonly string[]): string {
  const first = keys.slice(0, 10).join(", ");
  return keys.length > 10 ? t`${first} and ${keys.length - 10} more` : first;
}
