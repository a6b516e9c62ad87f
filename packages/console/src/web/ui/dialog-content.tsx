import { Dialog as Radix } from "radix-ui";
import { type ComponentProps, useState } from "react";
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
