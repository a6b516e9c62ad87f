import { ChevronDown, ChevronUp, X } from "lucide-react";
import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";

/**
 * Searches in all stored entries: first in the loaded ones, then in older ones page by page. It exists because the
 * browser's own search finds only rows that are rendered.
 */
export function FindBar({
  text,
  onText,
  count,
  at,
  searched,
  isSearching,
  isFull,
  onStep,
  onClose,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly count: number;
  /** Index of the current match. */
  readonly at: number;
  /** Number of entries that were searched. */
  readonly searched: number;
  /** True while older entries are being loaded. */
  readonly isSearching: boolean;
  /** True if older entries are stored but the page already has its maximum number of entries. */
  readonly isFull: boolean;
  readonly onStep: (by: number) => void;
  readonly onClose: () => void;
}) {
  return (
    <search className="flex items-center gap-1.5 border-line border-b bg-surface px-4 py-1.5">
      <input
        // biome-ignore lint/a11y/noAutofocus: the user opened it by a shortcut
        autoFocus
        type="search"
        aria-label={t`Find in the list`}
        placeholder={t`Find in the list`}
        value={text}
        spellCheck={false}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onStep(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") onClose();
          else return;
          event.preventDefault();
        }}
        className="h-7 min-w-0 flex-1 rounded-md border border-line-strong/60 bg-surface px-2"
      />
      <span role="status" className="min-w-24 text-right text-ink-2 tabular-nums">
        {text === "" ? "" : count === 0 ? t`No match` : t`${Math.max(0, at) + 1} of ${count}`}
        {text !== "" && isSearching && t` so far; ${searched} entries searched, searching older ones`}
        {text !== "" && isFull && t` in the newest ${searched} entries`}
      </span>
      <Button
        look="ghost"
        aria-label={t`Previous match`}
        disabled={count === 0}
        onClick={() => onStep(-1)}
        icon={<ChevronUp aria-hidden className="size-4" />}
      />
      <Button
        look="ghost"
        aria-label={t`Next match`}
        disabled={count === 0}
        onClick={() => onStep(1)}
        icon={<ChevronDown aria-hidden className="size-4" />}
      />
      <Button
        look="ghost"
        aria-label={t`Close the find bar`}
        onClick={onClose}
        icon={<X aria-hidden className="size-4" />}
      />
    </search>
  );
}
