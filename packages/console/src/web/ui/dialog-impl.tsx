import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { DialogContent } from "./dialog-content.tsx";

export interface DialogProps {
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children?: ReactNode;
  readonly footer?: ReactNode;
}

/** An open dialog. It keeps the focus inside. When it closes, it restores the focus. */
export default function DialogImpl({ onClose, title, description, children, footer }: DialogProps) {
  return (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <DialogContent className="-translate-x-1/2 -translate-y-1/2 fixed top-1/2 left-1/2 z-50 flex max-h-[85vh] w-[min(36rem,calc(100vw-2rem))] flex-col gap-3 rounded-lg border border-line bg-surface p-4 shadow-pop">
          <Radix.Title className="font-semibold text-[15px]">{title}</Radix.Title>
          <Radix.Description asChild>
            <div className="text-ink-2">{description}</div>
          </Radix.Description>
          {/* Space for the focus ring. */}
          <div className="-m-1 min-h-0 overflow-auto p-1">{children}</div>
          {footer !== undefined && <div className="flex flex-wrap justify-end gap-2">{footer}</div>}
        </DialogContent>
      </Radix.Portal>
    </Radix.Root>
  );
}
