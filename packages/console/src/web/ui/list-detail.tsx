import { ArrowLeft, X } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { Group, Panel, Separator } from "react-resizable-panels";
import { t } from "../labels/translate.ts";
import { useHotkey } from "../lib/hotkeys.ts";
import { Button } from "./button.tsx";
import { focusOn } from "./focus.ts";

/** If the window is narrower than this, in pixels, the detail takes the whole screen. */
const NARROW = 900;

/** Returns true if the window is narrower than `limit`, in pixels. */
export function useIsNarrow(limit: number = NARROW): boolean {
  const media = useMemo(() => matchMedia(`(max-width: ${limit - 1}px)`), [limit]);
  const subscribe = useCallback(
    (changed: () => void) => {
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    [media],
  );
  return useSyncExternalStore(subscribe, () => media.matches);
}

/**
 * A list, with the detail of the selected item beside it. On a narrow screen, the detail replaces the list and has a
 * back button.
 */
export function ListDetail({
  list,
  detail,
  title,
  onClose,
  id,
}: {
  readonly list: ReactNode;
  readonly detail: ReactNode | undefined;
  readonly title: string;
  readonly onClose: () => void;
  readonly id: string;
}) {
  const isNarrow = useIsNarrow();
  useHotkey("Escape", t`Close the detail`, () => {
    if (detail !== undefined) onClose();
  });
  const place = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const isOpen = detail !== undefined;
  const [wasOpen, setWasOpen] = useState(isOpen);
  // The focus is moved when the detail replaces the list, or the list replaces the detail. Otherwise the focus would be
  // lost together with the removed element.
  useEffect(() => {
    if (wasOpen === isOpen) return;
    setWasOpen(isOpen);
    if (isNarrow) focusOn(isOpen ? heading.current : (place.current?.querySelector('[role="grid"]') ?? null));
  }, [wasOpen, isOpen, isNarrow]);
  const pane = isOpen && (
    <section aria-label={title} className="flex h-full min-h-0 flex-1 flex-col bg-surface">
      <div className="flex h-10 shrink-0 items-center gap-2 border-line border-b px-3">
        {isNarrow && (
          <Button
            look="ghost"
            aria-label={t`Back to the list`}
            onClick={onClose}
            icon={<ArrowLeft aria-hidden className="size-4" />}
            className="-ml-1"
          />
        )}
        <h2 ref={heading} tabIndex={-1} className="min-w-0 flex-1 truncate font-medium outline-none" title={title}>
          {title}
        </h2>
        {!isNarrow && (
          <Button
            look="ghost"
            aria-label={t`Close`}
            title={t`Close (Esc)`}
            onClick={onClose}
            icon={<X aria-hidden className="size-4" />}
          />
        )}
      </div>
      <div className="min-h-0 flex-1 overflow-auto">{detail}</div>
    </section>
  );
  if (isNarrow) {
    return (
      <div ref={place} className="flex min-h-0 flex-1 flex-col overflow-hidden">
        {pane || list}
      </div>
    );
  }
  // The list is always at the same place in the tree of components, so that it keeps its focus and scroll position.
  return (
    <Group orientation="horizontal" id={id} className="min-h-0 flex-1">
      <Panel id="list" minSize="30%" className="flex flex-col">
        {list}
      </Panel>
      {pane && (
        <Separator
          aria-label={t`Width of the detail`}
          className="w-px bg-line outline-offset-0 hover:bg-accent data-[separator=drag]:bg-accent"
        />
      )}
      {pane && (
        <Panel id="detail" minSize="320px" maxSize="70%" defaultSize="44%" className="flex flex-col">
          {pane}
        </Panel>
      )}
    </Group>
  );
}
