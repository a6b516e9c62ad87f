import { lazy, type ReactNode, Suspense, useRef, useState } from "react";
import { Button, type ButtonProps } from "./button.tsx";

/** Loads the code of popovers, when the first popover opens or shortly after the page. */
export const loadPopover = () => import("./popover-impl.tsx");
const PopoverImpl = lazy(loadPopover);

/** A button that opens a popover. */
export function PopoverButton({
  opens,
  ...rest
}: Omit<ButtonProps, "ref" | "onClick"> & {
  readonly opens: {
    readonly label: string;
    readonly className: string;
    readonly content: (close: () => void) => ReactNode;
  };
}) {
  const button = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <Button {...rest} ref={button} aria-haspopup="dialog" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)} />
      {isOpen && (
        <Suspense>
          <PopoverImpl button={button} label={opens.label} className={opens.className} onClose={close}>
            {opens.content(close)}
          </PopoverImpl>
        </Suspense>
      )}
    </>
  );
}
