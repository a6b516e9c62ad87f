import { t } from "../../labels/translate.ts";
import { maskedJson } from "../../lib/secrets.ts";
import { Button } from "../../ui/button.tsx";
import { JsonDiff } from "../../ui/json-diff.tsx";

/** The diff between two values of an item. Secrets are masked until the user reveals them. */
export function MaskedDiff({
  itemKey,
  label,
  before,
  after,
  isRevealed,
  onReveal,
  className,
}: {
  readonly itemKey: string;
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly isRevealed: boolean;
  readonly onReveal: () => void;
  readonly className: string;
}) {
  const shown = (text: string): string => (isRevealed ? text : maskedJson(itemKey, text));
  const [old, now] = [shown(before), shown(after)];
  const isMasked = old !== before || now !== after;
  return (
    <>
      {isMasked && (
        <p className="flex flex-wrap items-center gap-2 text-[12px] text-ink-2">
          {old === now && before !== after ? t`Only secrets differ.` : t`Secrets are masked.`}
          <Button className="h-6 text-[12px]" onClick={onReveal}>
            {t`Reveal secrets`}
          </Button>
        </p>
      )}
      <JsonDiff label={label} before={old} after={now} className={className} />
    </>
  );
}
