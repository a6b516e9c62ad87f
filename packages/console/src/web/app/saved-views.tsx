import { Bookmark } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Button } from "../ui/button.tsx";

const SavedViewsDialog = lazy(() => import("./saved-views-dialog.tsx"));

/** Filters and looks of a page that were kept under names: takes what the address says now, or goes to one. */
export function SavedViews({ page }: { readonly page: "traces" | "logs" }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button title="Views that were saved under a name" onClick={() => setOpen(true)} icon={<Bookmark aria-hidden className="size-3.5" />}>
        <span className="max-xl:sr-only">Views</span>
      </Button>
      {isOpen && (
        <Suspense>
          <SavedViewsDialog page={page} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
