import { Columns3 } from "lucide-react";
import { type ComponentProps, lazy, Suspense } from "react";
import { t } from "../labels/translate.ts";
import { withUnavailable } from "../lib/with-unavailable.ts";
import { PopoverButton } from "./popover.tsx";

/** The code of the menu is loaded when the first menu opens. */
const ColumnsMenu = lazy(() => import("./columns-menu.tsx"));

/** A button that opens the menu of a table's columns. */
export default function ColumnsButton({
  table,
  className,
  shown,
  onChange,
  ...menu
}: ComponentProps<typeof ColumnsMenu> & {
  /** Name of the table whose columns are `all`. Without it, the button shows its own name. */
  readonly table?: string;
  readonly className?: string;
}) {
  const choice =
    table === undefined
      ? { shown, onChange }
      : {
          shown: shown?.filter((key) => menu.all.includes(key)),
          onChange: (keys: string[] | undefined) => onChange(keys && [...withUnavailable(keys, shown, menu.all)]),
        };
  return (
    <PopoverButton
      {...(table === undefined
        ? {}
        : { look: "ghost" as const, "aria-label": t`Columns of ${table}`, title: t`Columns` })}
      {...(className === undefined ? {} : { className })}
      icon={<Columns3 aria-hidden className="size-3.5" />}
      opens={{
        label: t`Columns`,
        className: "w-64",
        content: () => (
          <Suspense>
            <ColumnsMenu {...menu} {...choice} />
          </Suspense>
        ),
      }}
    >
      {table === undefined ? <span className="max-sm:sr-only">{t`Columns`}</span> : undefined}
    </PopoverButton>
  );
}
