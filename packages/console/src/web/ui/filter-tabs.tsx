import { cn } from "./cn.ts";

export interface FilterTab<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly count?: number | undefined;
}

/**
 * Tabs that filter a list. Tabs without results stay visible but are disabled. They are toggle buttons and not real
 * tabs, because all show the same list.
 */
export function FilterTabs<Value extends string>({
  label,
  tabs,
  value,
  onChange,
}: {
  readonly label: string;
  readonly tabs: readonly FilterTab<Value>[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}) {
  return (
    <fieldset aria-label={label} className="flex flex-wrap gap-1 max-sm:gap-0.5">
      {tabs.map((tab) => (
        <button
          key={tab.value}
          type="button"
          aria-pressed={tab.value === value}
          disabled={tab.count === 0 && tab.value !== value}
          onClick={() => onChange(tab.value)}
          className={cn(
            "inline-flex h-7 items-center gap-1.5 rounded-md px-2.5 text-ink-2 max-sm:px-1.5 max-sm:text-[12px] hover:bg-hover hover:text-ink disabled:opacity-45 max-sm:disabled:hidden disabled:hover:bg-transparent",
            tab.value === value && "bg-raised font-medium text-ink",
          )}
        >
          {tab.label}
          {tab.count !== undefined && (
            <span className="font-mono text-[11px] text-ink-3">{tab.count.toLocaleString("en-GB")}</span>
          )}
        </button>
      ))}
    </fieldset>
  );
}
