import { Dialog as Radix } from "radix-ui";
import { type ComponentProps, type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { focusOn } from "./focus.ts";

/** What a dialog holds. The focus goes back to what had it: Radix gives it back to a trigger only, and dialogs that are opened by a state have none. */
export function DialogContent({ onClosed, ...props }: ComponentProps<typeof Radix.Content> & { readonly onClosed?: () => void }) {
  const [opener] = useState(() => document.activeElement);
  return (
    <Radix.Content
      onCloseAutoFocus={(event) => {
        event.preventDefault();
        focusOn(opener);
        onClosed?.();
      }}
      {...props}
    />
  );
}

export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  footer,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children?: ReactNode;
  readonly footer?: ReactNode;
}) {
  return (
    <Radix.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <DialogContent className="-translate-x-1/2 -translate-y-1/2 fixed top-1/2 left-1/2 z-50 flex max-h-[85vh] w-[min(36rem,calc(100vw-2rem))] flex-col gap-3 rounded-lg border border-line bg-surface p-4 shadow-pop">
          <Radix.Title className="font-semibold text-[15px]">{title}</Radix.Title>
          <Radix.Description asChild>
            <div className="text-ink-2">{description}</div>
          </Radix.Description>
          {/* Room for the ring around what has the focus. */}
          <div className="-m-1 min-h-0 overflow-auto p-1">{children}</div>
          {footer !== undefined && <div className="flex flex-wrap justify-end gap-2">{footer}</div>}
        </DialogContent>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Asks before something is destroyed; names it. With `typeToConfirm` the button works once that text was typed. */
export function ConfirmDialog({
  open,
  onClose,
  title,
  description,
  action,
  onConfirm,
  typeToConfirm,
  isPending = false,
  children,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description: ReactNode;
  readonly action: string;
  readonly onConfirm: () => void;
  readonly typeToConfirm?: string | undefined;
  readonly isPending?: boolean;
  readonly children?: ReactNode;
}) {
  const [typed, setTyped] = useState("");
  const isReady = typeToConfirm === undefined || typed === typeToConfirm;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      description={description}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" disabled={!isReady} isPending={isPending} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      {typeToConfirm !== undefined && (
        <label className="mt-2 flex flex-col gap-1 text-ink-2">
          <span>
            Type <code className="text-ink">{typeToConfirm}</code> to confirm
          </span>
          <input
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            className="h-8 rounded-md border border-line-strong/60 bg-surface px-2 font-mono"
          />
        </label>
      )}
    </Dialog>
  );
}
