import {
  AlignHorizontalDistributeCenter,
  AlignStartHorizontal,
  AlignStartVertical,
  AlignVerticalDistributeCenter,
  type LucideIcon,
} from "lucide-react";
import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";
import { type Alignment, aligned } from "./layout/align.ts";
import type { Positions } from "./layout/positions.ts";

const ALIGNMENTS: readonly { readonly how: Alignment; readonly label: string; readonly icon: LucideIcon }[] = [
  { how: "left", label: t`Align left`, icon: AlignStartVertical },
  { how: "top", label: t`Align top`, icon: AlignStartHorizontal },
  { how: "across", label: t`Distribute horizontally`, icon: AlignHorizontalDistributeCenter },
  { how: "down", label: t`Distribute vertically`, icon: AlignVerticalDistributeCenter },
];

/** Toolbar that aligns or distributes the selected nodes. */
export default function AlignBar({
  selected,
  positions,
  onMove,
}: {
  readonly selected: readonly string[];
  readonly positions: Positions;
  readonly onMove: (positions: Positions) => void;
}) {
  return (
    <div
      role="toolbar"
      aria-label={t`Align the selected nodes`}
      className="flex items-center gap-1 rounded-md border border-line bg-surface px-2 py-1 shadow-pop"
    >
      <span role="status" className="pr-1 text-ink-2">
        {t`${selected.length} selected`}
      </span>
      {ALIGNMENTS.map(({ how, label, icon: Icon }) => (
        <Button
          key={how}
          look="ghost"
          aria-label={label}
          title={label}
          onClick={() => onMove(aligned(positions, selected, how))}
          icon={<Icon aria-hidden className="size-4" />}
        />
      ))}
    </div>
  );
}
