import { X } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "../../labels/translate.ts";
import { useHotkey } from "../../lib/hotkeys.ts";
import { Button } from "../../ui/button.tsx";

/**
 * Details beside the graph; on a narrow screen, over the graph. The graph stays mounted, because a new one would lose
 * its zoom, position and focus.
 */
export function SidePane({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  useHotkey("Escape", t`Close the details`, onClose, t`Flow`);
  return (
    <section
      aria-label={title}
      className="flex w-96 max-w-full shrink-0 flex-col border-line border-l bg-canvas max-md:absolute max-md:inset-0 max-md:z-10 max-md:w-full"
    >
      <header className="flex min-h-10 items-center gap-2 border-line border-b bg-surface px-3">
        <h2 className="min-w-0 flex-1 truncate font-medium">{title}</h2>
        <Button
          look="ghost"
          aria-label={t`Close the details`}
          onClick={onClose}
          icon={<X aria-hidden className="size-4" />}
        />
      </header>
      <div className="min-h-0 flex-1 overflow-auto">{children}</div>
    </section>
  );
}
