import { Dialog } from "../ui/dialog.tsx";
import { DisplayFields } from "./display-fields.tsx";

/** How this browser shows the console. */
export default function DisplaySettings({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Display" description="Kept in this browser.">
      <DisplayFields />
    </Dialog>
  );
}
