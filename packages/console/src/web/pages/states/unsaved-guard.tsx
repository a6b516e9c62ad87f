import { useBlocker } from "@tanstack/react-router";
import { ConfirmDialog } from "../../ui/dialog.tsx";

/** Asks before something typed is left behind: by a link, by Back, by closing the page. */
export function UnsavedGuard({ isDirty }: { readonly isDirty: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  });
  if (blocker.status !== "blocked") return null;
  return (
    <ConfirmDialog
      open
      onClose={blocker.reset}
      title="Leave without saving?"
      description="What you typed here is not stored yet."
      action="Leave and forget it"
      refusal={undefined}
      onConfirm={blocker.proceed}
    />
  );
}
