import type { Completion } from "@svc-runtime/protocol/query";
import { Search, X } from "lucide-react";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { plural, t } from "../labels/translate.ts";
import { useHotkey } from "../lib/hotkeys.ts";
import { cn } from "./cn.ts";

const WAIT_MS = 150;

/** Search box of a page. The key `/` focuses it. Typed text takes effect after a short delay. */
export function SearchBox({
  label,
  value,
  onChange,
  className,
  hotkey = "/",
  complete,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly className?: string;
  /** Key that focuses the box. Without it, there is no shortcut. */
  readonly hotkey?: string | undefined;
  /** Returns suggestions for the word before the caret. They are shown while the user types. */
  readonly complete?: (text: string, caret: number) => Completion | undefined;
}) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const options = useOptions({ input, setText, complete });
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
        {...options.inputProps}
        onChange={(event) => {
          setText(event.target.value);
          options.offer(event.target.value, event.target.selectionStart ?? event.target.value.length);
        }}
        onBlur={options.close}
        onKeyDown={(event) => {
          if (options.onKey(event) || event.key !== "Escape") return;
          if (text === "") event.currentTarget.blur();
          else setText("");
        }}
        className="h-full w-full rounded-md border border-line-strong/60 bg-surface pr-7 pl-7 placeholder:text-ink-3 [&::-webkit-search-cancel-button]:hidden"
      />
      {options.list}
      {text !== "" && (
        <button
          type="button"
          aria-label={t`Clear the search`}
          onClick={() => setText("")}
          className="absolute right-0.5 flex size-6 items-center justify-center rounded text-ink-3 hover:text-ink"
        >
          <X aria-hidden className="size-3.5" />
        </button>
      )}
    </div>
  );
}

/**
 * The list of suggestions below the box. The arrow keys select one, Enter and Tab insert it, and Escape closes the
 * list.
 */
function useOptions({
  input,
  setText,
  complete,
}: {
  readonly input: React.RefObject<HTMLInputElement | null>;
  readonly setText: (text: string) => void;
  readonly complete: ((text: string, caret: number) => Completion | undefined) | undefined;
}) {
  const id = useId();
  const [completion, setCompletion] = useState<Completion>();
  const [active, setActive] = useState(-1);
  const [caret, setCaret] = useState<number>();
  const options = completion?.options ?? [];
  useLayoutEffect(() => {
    if (caret === undefined) return;
    input.current?.setSelectionRange(caret, caret);
    setCaret(undefined);
  }, [caret, input]);
  const offer = (text: string, at: number): void => {
    setCompletion(complete?.(text, at));
    setActive(-1);
  };
  const close = (): void => setCompletion(undefined);
  const insert = (option: string): void => {
    const before = input.current?.value ?? "";
    if (completion === undefined) return;
    const start = before.slice(0, completion.from) + option;
    setText(start + before.slice(completion.to));
    setCaret(start.length);
    // After a field name was inserted, suggests values for it.
    offer(start + before.slice(completion.to), start.length);
  };
  const isOpen = options.length > 0;
  return {
    offer,
    close,
    inputProps: isOpen
      ? {
          autoComplete: "off",
          "aria-autocomplete": "list" as const,
          "aria-controls": id,
          ...(active < 0 ? {} : { "aria-activedescendant": `${id}-${active}` }),
        }
      : { autoComplete: "off" },
    /** Handles a key. Returns true if the key was for the list. */
    onKey(event: React.KeyboardEvent): boolean {
      if (!isOpen) return false;
      const chosen = options[active];
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const step = event.key === "ArrowDown" ? 1 : -1;
        setActive(active < 0 && step < 0 ? options.length - 1 : (active + step + options.length) % options.length);
      } else if (event.key === "Escape") close();
      else if ((event.key === "Enter" || event.key === "Tab") && chosen !== undefined) insert(chosen.text);
      else return false;
      event.preventDefault();
      return true;
    },
    list: isOpen && (
      <>
        <div
          role="listbox"
          id={id}
          aria-label={t`Suggestions`}
          className="absolute top-full left-0 z-30 mt-1 max-h-72 w-max min-w-56 max-w-[min(32rem,90vw)] overflow-auto rounded-md border border-line bg-surface py-1 shadow-pop"
        >
          {options.map(({ text, description }, at) => (
            <div
              key={text}
              id={`${id}-${at}`}
              role="option"
              aria-selected={at === active}
              tabIndex={-1}
              // `onMouseDown` is used, because a click would come after the box has lost the focus.
              onMouseDown={(event) => {
                event.preventDefault();
                insert(text);
              }}
              className={cn(
                "flex min-h-6 cursor-pointer items-baseline gap-3 px-2 py-0.5 hover:bg-hover",
                at === active && "bg-accent-soft",
              )}
            >
              <code className="truncate">{text}</code>
              {description !== undefined && (
                <span className="ml-auto truncate text-[12px] text-ink-2">{description}</span>
              )}
            </div>
          ))}
        </div>
        <p role="status" className="sr-only">
          {plural(options.length, "# suggestion", "# suggestions")}
        </p>
      </>
    ),
  };
}
