import { Download, Eraser, ListCollapse, PanelLeft, Search, Trash2, WrapText } from "lucide-react";
import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
import { call, exportLines } from "../../lib/api.ts";
import { downloadBlob } from "../../lib/download-blob.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button, type ButtonProps } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { type LogQuery, windowMembers } from "./use-log-query.ts";

/** Buttons that change how the list is shown. */
export function ViewActions({
  isPanelOpen,
  onPanel,
  grouped,
  onGroup,
  wrap,
  onWrap,
  onFind,
  onClear,
}: {
  readonly isPanelOpen: boolean;
  readonly onPanel: () => void;
  readonly grouped: boolean;
  readonly onGroup: () => void;
  readonly wrap: boolean;
  readonly onWrap: () => void;
  readonly onFind: () => void;
  readonly onClear: () => void;
}) {
  return (
    <>
      <ToolButton
        label={t`Sources`}
        title={t`Show the breakdown by source, level and function`}
        pressed={isPanelOpen}
        onClick={onPanel}
        icon={<PanelLeft aria-hidden className="size-3.5" />}
      />
      <ToolButton
        label={t`Group similar`}
        pressed={grouped}
        onClick={onGroup}
        icon={<ListCollapse aria-hidden className="size-3.5" />}
      />
      <ToolButton
        label={t`Wrap`}
        title={t`Wrap long messages`}
        pressed={wrap}
        onClick={onWrap}
        icon={<WrapText aria-hidden className="size-3.5" />}
      />
      <ToolButton
        label={t`Find`}
        title={t`Find in the list (Ctrl or ⌘ F)`}
        onClick={onFind}
        icon={<Search aria-hidden className="size-3.5" />}
      />
      <ToolButton
        label={t`Clear view`}
        title={t`Show only new entries; remove the time filter to see older entries again`}
        onClick={onClear}
        icon={<Eraser aria-hidden className="size-3.5" />}
      />
    </>
  );
}

function ToolButton({
  label,
  pressed,
  ...rest
}: Omit<ButtonProps, "children"> & { readonly label: string; readonly pressed?: boolean }) {
  return (
    <Button
      aria-pressed={pressed}
      {...rest}
      className={pressed === true ? "border-accent bg-accent-soft text-accent" : undefined}
    >
      <span className="sm:max-xl:sr-only">{label}</span>
    </Button>
  );
}

/** Buttons that export all matching entries and delete all stored entries. */
export function StoredActions({ query, onDeleted }: { readonly query: LogQuery; readonly onDeleted: () => void }) {
  const [pending, setPending] = useState<"csv" | "ndjson">();
  const [failure, setFailure] = useState<string>();
  const save = async (format: "csv" | "ndjson"): Promise<void> => {
    setPending(format);
    setFailure(undefined);
    try {
      const lines = await exportLines("engine::logs::export", {
        ...query.filter,
        ...windowMembers(query.window(Date.now())),
        format,
      });
      if (lines === null) setFailure(t`Nothing to export: the engine stores no log entries`);
      else {
        const { maskedExport } = await import("./masked-export.ts");
        downloadBlob(
          await maskedExport(lines, format),
          `logs-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}.${format}`,
        );
      }
    } catch (error) {
      setFailure(t`Failed to export: ${(error as Error).message}`);
    } finally {
      setPending(undefined);
    }
  };
  return (
    <>
      {(["ndjson", "csv"] as const).map((format) => (
        <Button
          key={format}
          isPending={pending === format}
          disabled={pending !== undefined}
          title={
            format === "csv"
              ? t`Export all matching entries as CSV, with secrets masked`
              : t`Export all matching entries as newline-delimited JSON, with secrets masked`
          }
          aria-label={t`Export as ${format.toUpperCase()}`}
          onClick={() => void save(format)}
          icon={<Download aria-hidden className="size-3.5" />}
        >
          {format.toUpperCase()}
        </Button>
      ))}
      <DeleteStored onDeleted={onDeleted} />
      {failure !== undefined && (
        <p role="alert" className="basis-full text-danger">
          {failure}
        </p>
      )}
    </>
  );
}

function DeleteStored({ onDeleted }: { readonly onDeleted: () => void }) {
  const [isConfirming, setConfirming] = useState(false);
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<string>();
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const remove = (): void => {
    setPending(true);
    setFailure(undefined);
    call("engine::logs::clear", {})
      .then(
        () => {
          setConfirming(false);
          toast(t`All stored log entries were deleted`);
          onDeleted();
        },
        (error: Error) => setFailure(error.message),
      )
      .finally(() => setPending(false));
  };
  return (
    <>
      <Button
        look="danger"
        disabledReason={refusal}
        aria-label={t`Delete stored logs`}
        title={t`Delete stored logs`}
        onClick={() => setConfirming(true)}
        icon={<Trash2 aria-hidden className="size-3.5" />}
      />
      {isConfirming && (
        <ConfirmDialog
          open
          onClose={() => setConfirming(false)}
          title={t`Delete all stored log entries?`}
          description={t`This deletes all stored log entries of all sources, not only those that match the filters. It cannot be undone.`}
          action={t`Delete all log entries`}
          typeToConfirm={t`delete logs`}
          isPending={isPending}
          refusal={refusal}
          onConfirm={remove}
        >
          {failure !== undefined && (
            <p role="alert" className="rounded-md bg-danger-soft px-3 py-1.5 text-danger">
              {failure}
            </p>
          )}
        </ConfirmDialog>
      )}
    </>
  );
}
