import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";

/** Asks whether secrets go into the file: without them it is fit to be passed on, with them to be imported. */
export function ExportDialog({
  lines,
  masked,
  onSave,
  onClose,
}: {
  readonly lines: readonly string[];
  /** The same lines with secrets masked. */
  readonly masked: readonly string[];
  readonly onSave: (lines: readonly string[]) => void;
  readonly onClose: () => void;
}) {
  const secrets = lines.filter((line, at) => line !== masked[at]).length;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Export secrets, too?"
      description={`${secrets.toLocaleString("en-GB")} of ${lines.length.toLocaleString("en-GB")} items hold secrets. Masked, those cannot be imported again.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button onClick={() => onSave(lines)}>Export with secrets</Button>
          <Button look="primary" autoFocus onClick={() => onSave(masked)}>
            Export masked
          </Button>
        </>
      }
    />
  );
}
