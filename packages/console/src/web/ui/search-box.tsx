import { Search, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useHotkey } from "../lib/hotkeys.ts";
import { cn } from "./cn.ts";

const WAIT_MS = 150;

/** The search of a page. `/` focuses it; typed text takes effect after a short delay. */
export function SearchBox({
  label,
  value,
  onChange,
  className,
  hotkey = "/",
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly className?: string;
  /** Undefined: no shortcut. */
  readonly hotkey?: string | undefined;
}) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => latest.current(text), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  useHotkey(hotkey ?? "never", label, () => input.current?.focus());
  return (
    <div className={cn("relative flex h-7 min-w-40 items-center max-sm:flex-1", className)}>
      <Search aria-hidden className="pointer-events-none absolute left-2 size-3.5 text-ink-3" />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          if (text === "") event.currentTarget.blur();
          else setText("");
        }}
        className="h-full w-full rounded-md border border-line-strong/60 bg-surface pr-7 pl-7 placeholder:text-ink-3 [&::-webkit-search-cancel-button]:hidden"
      />
      {text !== "" && (
        <button
          type="button"
          aria-label="Clear the search"
          onClick={() => setText("")}
          className="absolute right-0.5 flex size-6 items-center justify-center rounded text-ink-3 hover:text-ink"
        >
          <X aria-hidden className="size-3.5" />
        </button>
      )}
    </div>
  );
}
