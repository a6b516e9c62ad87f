import { Popover as Radix } from "radix-ui";
import type { ReactNode, RefObject } from "react";
import { cn } from "./cn.ts";

export interface PopoverProps {
  /** The button below which it opens. */
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly label: string;
  readonly className: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** An open popover below its button. Escape and clicks elsewhere close it and restore the focus. */
export default function PopoverImpl({ button, label, className, onClose, children }: PopoverProps) {
  return (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      {/* The button exists before this code is loaded, so it is not part of the popover. */}
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
          // The button handles its own clicks.
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
