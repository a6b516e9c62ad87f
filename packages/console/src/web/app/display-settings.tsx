import { t } from "../labels/translate.ts";
import { Dialog } from "../ui/dialog.tsx";
import { DisplayFields } from "./display-fields.tsx";

/** Dialog with the display preferences of this browser. */
export default function DisplaySettings({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title={t`Display`} description={t`Stored in this browser.`}>
      <DisplayFields />
    </Dialog>
  );
}
