import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";

/**
 * Asks whether the export includes secrets. A file with masked secrets can be given to others. Only a file with the
 * secrets can be imported again.
 */
export function ExportDialog({
  lines,
  masked,
  onSave,
  onClose,
}: {
  readonly lines: readonly string[];
  /** The same lines, but with secrets masked. */
  readonly masked: readonly string[];
  readonly onSave: (lines: readonly string[]) => void;
  readonly onClose: () => void;
}) {
  const secrets = lines.filter((line, at) => line !== masked[at]).length;
  return (
    <Dialog
      open
      onClose={onClose}
      title={t`Include secrets in the export?`}
      description={t`${secrets} of ${lines.length} items hold secrets. If masked, those items cannot be imported again.`}
      footer={
        <>
          <Button onClick={onClose}>{t`Cancel`}</Button>
          <Button onClick={() => onSave(lines)}>{t`Export with secrets`}</Button>
          <Button look="primary" autoFocus onClick={() => onSave(masked)}>
            {t`Export masked`}
          </Button>
        </>
      }
    />
  );
}
