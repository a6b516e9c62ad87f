import { Ellipsis } from "lucide-react";
import { type ReactNode, useState } from "react";
import { t } from "../labels/translate.ts";
import { Button } from "./button.tsx";
import { useIsNarrow } from "./list-detail.tsx";

/** Tools of a page that are rarely used. On narrow screens, a button opens them. */
export function MoreTools({ children }: { readonly children: ReactNode }) {
  const isNarrow = useIsNarrow(640);
  const [isOpen, setOpen] = useState(false);
  if (!isNarrow) return children;
  return (
    <>
      <Button
        aria-expanded={isOpen}
        aria-label={isOpen ? t`Fewer tools` : t`More tools`}
        onClick={() => setOpen(!isOpen)}
        icon={<Ellipsis aria-hidden className="size-4" />}
      />
      {isOpen && <div className="flex basis-full flex-wrap items-center gap-1.5">{children}</div>}
    </>
  );
}
