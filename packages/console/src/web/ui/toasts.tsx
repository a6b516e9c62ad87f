import { useSyncExternalStore } from "react";
import { t } from "../labels/translate.ts";
import { Button } from "./button.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
  /** True if the message is shown until the user dismisses it. */
  readonly isKept?: boolean | undefined;
}

const SHOWN_MS = 10_000;
/**
 * Maximum number of messages of each kind. There are two kinds: messages that disappear, and messages that the user
 * must dismiss.
 */
const MAX_SHOWN = 4;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/**
 * Shows a message for ten seconds. A failure must also be shown at the place where it happened, because this message
 * disappears. See also `keepToast`.
 */
export function toast(text: string, action?: Toast["action"]): void {
  const id = show({ text, action });
  setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Shows a message until the user dismisses it. */
export function keepToast(text: string): void {
  show({ text, isKept: true });
}

function show(next: Omit<Toast, "id">): number {
  const id = ++lastId;
  const all = [...toasts, { id, ...next }];
  const surplus = all.filter(({ isKept }) => isKept === next.isKept).slice(0, -MAX_SHOWN);
  set(all.filter((each) => !surplus.includes(each)));
  return id;
}

function dismiss(id: number): void {
  set(toasts.filter((each) => each.id !== id));
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-50 flex flex-col gap-2"
    >
      {shown.map(({ id, text, action, isKept }) => (
        <div
          key={id}
          className="pointer-events-auto flex items-center gap-3 rounded-md border border-line bg-surface px-3 py-2 shadow-pop"
        >
          <span className="max-w-[32rem] break-words">{text}</span>
          {action !== undefined && (
            <Button
              look="ghost"
              className="text-accent"
              onClick={() => {
                action.run();
                dismiss(id);
              }}
            >
              {action.label}
            </Button>
          )}
          {isKept === true && (
            <Button look="ghost" onClick={() => dismiss(id)}>
              {t`Dismiss`}
            </Button>
          )}
        </div>
      ))}
    </div>
  );
}
