import { ArrowDown, ArrowUp, Columns3, X } from "lucide-react";
import { Button } from "../../ui/button.tsx";
import { PopoverButton } from "../../ui/popover.tsx";
import { DEFAULT_COLUMNS } from "./log-columns.tsx";

/** Menu that shows, hides and orders columns. Attributes are added as columns from an entry's details. */
export function ColumnsMenu({
  cols,
  onChange,
}: {
  readonly cols: readonly string[] | undefined;
  readonly onChange: (cols: string[] | undefined) => void;
}) {
  const current = cols ?? DEFAULT_COLUMNS;
  const hidden = DEFAULT_COLUMNS.filter((key) => !current.includes(key));
  const set = (next: readonly string[]): void =>
    onChange(next.join("\n") === DEFAULT_COLUMNS.join("\n") ? undefined : [...next]);
  const move = (at: number, by: number): void => {
    const next = [...current];
    next.splice(at + by, 0, ...next.splice(at, 1));
    set(next);
  };
  return (
    <PopoverButton
      icon={<Columns3 aria-hidden className="size-3.5" />}
      opens={{
        label: "Columns",
        className: "w-64",
        content: () => (
          <>
            <ul>
              {current.map((key, at) => (
                <li key={key} className="flex items-center gap-1">
                  <span className="min-w-0 flex-1 truncate px-1">{key}</span>
                  <Button
                    look="ghost"
                    aria-label={`Move ${key} to the left`}
                    disabled={at === 0}
                    onClick={() => move(at, -1)}
                    icon={<ArrowUp aria-hidden className="size-3.5" />}
                  />
                  <Button
                    look="ghost"
                    aria-label={`Move ${key} to the right`}
                    disabled={at === current.length - 1}
                    onClick={() => move(at, 1)}
                    icon={<ArrowDown aria-hidden className="size-3.5" />}
                  />
                  <Button
                    look="ghost"
                    aria-label={`Hide ${key}`}
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
                    Show {key}
                  </Button>
                ))}
              </div>
            )}
            {cols !== undefined && (
              <Button look="ghost" className="mt-2" onClick={() => onChange(undefined)}>
                Reset to defaults
              </Button>
            )}
          </>
        ),
      }}
    >
      <span className="max-sm:sr-only">Columns</span>
    </PopoverButton>
  );
}
