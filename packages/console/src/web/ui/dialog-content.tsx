import { Dialog as Radix } from "radix-ui";
import { type ComponentProps, useState } from "react";
import { focusOn } from "./focus.ts";

/**
 * Content of a dialog. Restores the focus itself, because Radix restores it only to a trigger, and dialogs opened by
 * state have none.
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
