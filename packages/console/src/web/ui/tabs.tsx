import { Tabs as Radix } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { t } from "../labels/translate.ts";
import { useHotkey } from "../lib/hotkeys.ts";

export interface TabSpec {
  readonly value: string;
  readonly label: string;
  readonly count?: number | undefined;
  readonly content: ReactNode;
}

/** Tabs of a detail. The keys `[` and `]` switch between them. */
export function Tabs({
  label,
  tabs,
  value,
  onChange,
}: {
  readonly label: string;
  readonly tabs: readonly TabSpec[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const step = (by: number): void => {
    const at = tabs.findIndex((tab) => tab.value === value);
    const to = (at + by + tabs.length) % tabs.length;
    const next = tabs[to];
    // If a tab has the focus, the focus moves to the new tab, which selects it. If the focus stayed, Enter would switch
    // back.
    if (list.current?.contains(document.activeElement) === true)
      list.current.querySelectorAll<HTMLElement>('[role="tab"]')[to]?.focus();
    else if (next !== undefined) onChange(next.value);
  };
  useHotkey("[", t`Previous tab`, () => step(-1));
  useHotkey("]", t`Next tab`, () => step(1));
  return (
    <Radix.Root value={value} onValueChange={onChange} className="flex min-h-0 flex-1 flex-col">
      <Radix.List
        ref={list}
        aria-label={label}
        className="flex shrink-0 gap-0.5 overflow-x-auto border-line border-b px-2"
      >
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px h-9 whitespace-nowrap border-transparent border-b-2 px-1.5 text-ink-2 hover:text-ink data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
          >
            {tab.label}
            {tab.count !== undefined && (
              <span className="ml-1.5 font-mono text-[11px] text-ink-3">{tab.count.toLocaleString("en-GB")}</span>
            )}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value} className="min-h-0 flex-1 overflow-auto outline-offset-[-2px]">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
