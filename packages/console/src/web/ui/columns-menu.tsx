import { ArrowDown, ArrowUp, X } from "lucide-react";
import { t } from "../labels/translate.ts";
import { Button } from "./button.tsx";

/** Content of a menu that shows, hides and orders columns. */
export default function ColumnsMenu({
  all,
  defaults = all,
  shown,
  labelOf = (key) => key,
  onChange,
}: {
  /** Keys of all columns, in their default order. */
  readonly all: readonly string[];
  /** Keys of the columns that are shown by default. If it is not given, all columns are. */
  readonly defaults?: readonly string[];
  /** Keys of the shown columns, in order. If undefined, the default columns are shown. */
  readonly shown: readonly string[] | undefined;
  readonly labelOf?: (key: string) => string;
  /** Called with the new columns, or with undefined for the default columns. */
  readonly onChange: (shown: string[] | undefined) => void;
}) {
  const current = shown ?? defaults;
  const hidden = all.filter((key) => !current.includes(key));
  const set = (next: readonly string[]): void =>
    onChange(next.join("\n") === defaults.join("\n") ? undefined : [...next]);
  const move = (at: number, by: number): void => {
    const next = [...current];
    next.splice(at + by, 0, ...next.splice(at, 1));
    set(next);
  };
  return (
    <>
      <ul>
        {current.map((key, at) => (
          <li key={key} className="flex items-center gap-1">
            <span className="min-w-0 flex-1 truncate px-1">{labelOf(key)}</span>
            <Button
              look="ghost"
              aria-label={t`Move ${labelOf(key)} to the left`}
              disabled={at === 0}
              onClick={() => move(at, -1)}
              icon={<ArrowUp aria-hidden className="size-3.5" />}
            />
            <Button
              look="ghost"
              aria-label={t`Move ${labelOf(key)} to the right`}
              disabled={at === current.length - 1}
              onClick={() => move(at, 1)}
              icon={<ArrowDown aria-hidden className="size-3.5" />}
            />
            <Button
              look="ghost"
              aria-label={t`Hide ${labelOf(key)}`}
              disabled={current.length === 1}
              onClick={() => set(current.filter((each) => each !== key))}
              icon={<X aria-hidden className="size-3.5" />}
            />
          </li>
        ))}
      </ul>
      {hidden.length > 0 && (
        <div className="mt-2 flex flex-wrap gap-1 border-line border-t pt-2">
          {hidden.map((key) => (
            <Button key={key} className="h-6" onClick={() => set([...current, key])}>
              {t`Show ${labelOf(key)}`}
            </Button>
          ))}
        </div>
      )}
      {shown !== undefined && (
        <Button look="ghost" className="mt-2" onClick={() => onChange(undefined)}>
          {t`Reset to defaults`}
        </Button>
      )}
    </>
  );
}
