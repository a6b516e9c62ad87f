import { Plus, X } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "../../../labels/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { INPUT } from "../../../ui/input-class.ts";
import type { Row } from "./http-request.ts";

let lastId = 0;

/** Editor for rows of names and values. A name may occur several times. Each row can be switched off. */
export function RowsEditor({
  title,
  what,
  rows,
  onChange,
  tools,
}: {
  readonly title: string;
  readonly what: string;
  readonly rows: readonly Row[];
  readonly onChange: (rows: readonly Row[]) => void;
  /** Shown after the button that adds a row. */
  readonly tools?: ReactNode;
}) {
  const set = (id: number, change: Partial<Row>): void =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...change } : row)));
  return (
    <fieldset aria-label={title} className="flex flex-col gap-1">
      <div className="flex items-center gap-2">
        <span className="font-medium text-ink-2">{title}</span>
        <Button
          look="ghost"
          className="h-6 px-1.5"
          aria-label={t`Add a ${what}`}
          onClick={() => onChange([...rows, { id: --lastId, name: "", value: "", on: true }])}
          icon={<Plus aria-hidden className="size-3.5" />}
        >
          {t`Add`}
        </Button>
        {tools}
      </div>
      {rows.map((row, at) => (
        <div key={row.id} className="flex items-center gap-1">
          <input
            type="checkbox"
            className="size-3.5"
            aria-label={t`Send the ${what} ${row.name || at + 1}`}
            checked={row.on}
            onChange={(event) => set(row.id, { on: event.target.checked })}
          />
          <input
            className={`${INPUT} w-2/5 min-w-0 font-mono text-[12px]`}
            aria-label={t`Name of the ${what} ${at + 1}`}
            placeholder={t`name`}
            value={row.name}
            spellCheck={false}
            onChange={(event) => set(row.id, { name: event.target.value })}
          />
          <input
            className={`${INPUT} min-w-0 flex-1 font-mono text-[12px]`}
            aria-label={t`Value of the ${what} ${at + 1}`}
            placeholder={t`value`}
            value={row.value}
            spellCheck={false}
            onChange={(event) => set(row.id, { value: event.target.value })}
          />
          <Button
            look="ghost"
            className="h-6 w-6"
            aria-label={t`Remove the ${what} ${row.name || at + 1}`}
            onClick={() => onChange(rows.filter(({ id }) => id !== row.id))}
            icon={<X aria-hidden className="size-3.5" />}
          />
        </div>
      ))}
    </fieldset>
  );
}
