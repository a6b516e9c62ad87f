import { Bookmark } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { t } from "../labels/translate.ts";
import { Button } from "../ui/button.tsx";

const SavedViewsDialog = lazy(() => import("./saved-views-dialog.tsx"));

/**
 * Menu of saved views. A view has the filters and display options of a page. The menu saves the current address as a
 * view, or opens a saved view.
 */
export function SavedViews({ page }: { readonly page: "traces" | "logs" }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button title={t`Saved views`} onClick={() => setOpen(true)} icon={<Bookmark aria-hidden className="size-3.5" />}>
        <span className="max-xl:sr-only">{t`Views`}</span>
      </Button>
      {isOpen && (
        <Suspense>
          <SavedViewsDialog page={page} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
