import { Dialog as Radix } from "radix-ui";
import { type ComponentProps, useState } from "react";
import { focusOn } from "./focus.ts";

/**
 * Content of a dialog. It restores the focus itself. Radix restores the focus only to a trigger element, and a dialog
 * that is opened by state has none.
 */
export function DialogContent({
  onClosed,
  ...props
}: ComponentProps<typeof Radix.Content> & { readonly onClosed?: () => void }) {
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
