import { X } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Group, Panel, Separator } from "react-resizable-panels";
import { useHotkey } from "../lib/hotkeys.ts";
import { Button } from "./button.tsx";

/** Narrower than this, in pixels, the detail takes the whole screen. */
const NARROW = 900;

export function useIsNarrow(limit: number = NARROW): boolean {
  const query = `(max-width: ${limit - 1}px)`;
  const [is, setIs] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = (): void => setIs(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query]);
  return is;
}

/** A list with the detail of what is chosen beside it; on a narrow screen the detail covers the list and has a way back. */
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
  useHotkey("Escape", "Close the detail", () => {
    if (detail !== undefined) onClose();
  });
  const pane = detail !== undefined && (
    <section aria-label={title} className="flex h-full min-h-0 flex-1 flex-col bg-surface">
      <div className="flex h-10 shrink-0 items-center gap-2 border-line border-b px-3">
        <h2 className="min-w-0 flex-1 truncate font-medium" title={title}>
          {title}
        </h2>
        <Button
          look="ghost"
          aria-label={isNarrow ? "Back to the list" : "Close"}
          title="Close (Esc)"
          onClick={onClose}
          icon={<X aria-hidden className="size-4" />}
        />
      </div>
      <div className="min-h-0 flex-1 overflow-auto">{detail}</div>
    </section>
  );
  if (isNarrow) return <div className="flex min-h-0 flex-1 flex-col overflow-hidden">{pane || list}</div>;
  // With and without a detail the list has one place, so that it keeps the focus and where it is scrolled to.
  return (
    <Group orientation="horizontal" id={id} className="min-h-0 flex-1">
      <Panel id="list" minSize="30%" className="flex flex-col">
        {list}
      </Panel>
      {pane && <Separator aria-label="Width of the detail" className="w-px bg-line outline-offset-0 hover:bg-accent data-[separator=drag]:bg-accent" />}
      {pane && (
        <Panel id="detail" minSize="320px" maxSize="70%" defaultSize="44%" className="flex flex-col">
          {pane}
        </Panel>
      )}
    </Group>
  );
}
