import { AlignHorizontalDistributeCenter, AlignStartHorizontal, AlignStartVertical, AlignVerticalDistributeCenter, type LucideIcon } from "lucide-react";
import { Button } from "../../ui/button.tsx";
import { type Alignment, aligned } from "./layout/align.ts";
import type { Places } from "./layout/place.ts";

const WAYS: readonly { readonly how: Alignment; readonly label: string; readonly icon: LucideIcon }[] = [
  { how: "left", label: "In a column", icon: AlignStartVertical },
  { how: "top", label: "In a row", icon: AlignStartHorizontal },
  { how: "across", label: "Spread evenly across", icon: AlignHorizontalDistributeCenter },
  { how: "down", label: "Spread evenly down", icon: AlignVerticalDistributeCenter },
];

/** What can be done with several nodes at once. */
export default function AlignBar({
  chosen,
  places,
  onMove,
}: {
  readonly chosen: readonly string[];
  readonly places: Places;
  readonly onMove: (places: Places) => void;
}) {
  return (
    <div role="toolbar" aria-label="Align the selected nodes" className="flex items-center gap-1 rounded-md border border-line bg-surface px-2 py-1 shadow-pop">
      <span role="status" className="pr-1 text-ink-2">
        {chosen.length} selected
      </span>
      {WAYS.map(({ how, label, icon: Icon }) => (
        <Button
          key={how}
          look="ghost"
          aria-label={label}
          title={label}
          onClick={() => onMove(aligned(places, chosen, how))}
          icon={<Icon aria-hidden className="size-4" />}
        />
      ))}
    </div>
  );
}
