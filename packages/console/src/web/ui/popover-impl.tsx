import { Popover as Radix } from "radix-ui";
import type { ReactNode, RefObject } from "react";
import { cn } from "./cn.ts";

export interface PopoverProps {
  /** The button below which the popover opens. */
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly label: string;
  readonly className: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** An open popover below its button. Escape, or a click elsewhere, closes it and restores the focus. */
export default function PopoverImpl({ button, label, className, onClose, children }: PopoverProps) {
  return (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      {/* The button is only an anchor and not part of the popover, because it exists before this code is loaded. */}
      <Radix.Anchor virtualRef={button} />
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label={label}
          className={cn(
            "z-40 max-w-[calc(100vw-1rem)] rounded-lg border border-line bg-surface p-2 shadow-pop",
            className,
          )}
          // Clicks on the button do not count as outside, because the button handles them itself.
          onInteractOutside={(event) => {
            if (event.target instanceof Node && button.current?.contains(event.target) === true) event.preventDefault();
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            if (document.activeElement === null || document.activeElement === document.body) button.current?.focus();
          }}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
