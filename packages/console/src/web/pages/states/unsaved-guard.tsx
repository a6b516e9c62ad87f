import { useBlocker } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";

/**
 * Asks for confirmation before unsaved changes are lost. That may happen through a link, the Back button, or closing
 * the page.
 */
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
      title={t`Leave without saving?`}
      description={t`Your changes are not saved.`}
      action={t`Leave and discard`}
      refusal={undefined}
      onConfirm={blocker.proceed}
    />
  );
}
