import { lazy, type ReactNode, Suspense, useState } from "react";
import { rich } from "../labels/rich.ts";
import { t } from "../labels/translate.ts";
import { Button } from "./button.tsx";
import type { DialogProps } from "./dialog-impl.tsx";

/** Loads the code of dialogs, when the first dialog opens or shortly after the page. */
export const loadDialog = () => import("./dialog-impl.tsx");
const DialogImpl = lazy(loadDialog);

export function Dialog({ open, ...rest }: DialogProps & { readonly open: boolean }) {
  return open ? (
    <Suspense>
      <DialogImpl {...rest} />
    </Suspense>
  ) : null;
}

interface ConfirmDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description: ReactNode;
  readonly action: string;
  readonly onConfirm: () => void;
  /** Reason why the action is not possible any more, although it was possible when the dialog opened. */
  readonly refusal: string | undefined;
  readonly typeToConfirm?: string | undefined;
  readonly isPending?: boolean;
  readonly children?: ReactNode;
}

/**
 * Asks for confirmation before a destructive action. With `typeToConfirm`, the button is enabled only after the user
 * has typed this text.
 */
export function ConfirmDialog({ open, ...rest }: ConfirmDialogProps) {
  // The content is unmounted when the dialog closes, so that each opening needs a new confirmation.
  return open ? <OpenConfirmDialog {...rest} /> : null;
}

function OpenConfirmDialog({
  onClose,
  title,
  description,
  action,
  onConfirm,
  refusal,
  typeToConfirm,
  isPending = false,
  children,
}: Omit<ConfirmDialogProps, "open">) {
  const [typed, setTyped] = useState("");
  const isReady = typeToConfirm === undefined || typed === typeToConfirm;
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      description={description}
      footer={
        <>
          <Button onClick={onClose}>{t`Cancel`}</Button>
          <Button look="danger" disabled={!isReady} disabledReason={refusal} isPending={isPending} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      {typeToConfirm !== undefined && (
        <label className="mt-2 flex flex-col gap-1 text-ink-2">
          <span>{rich`Type ${<code className="text-ink">{typeToConfirm}</code>} to confirm`}</span>
          <input
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            className="h-8 rounded-md border border-line-strong/60 bg-surface px-2 font-mono"
          />
        </label>
      )}
      {refusal !== undefined && (
        <p role="status" className="mt-2 text-warn">
          {refusal}.
        </p>
      )}
    </Dialog>
  );
}
