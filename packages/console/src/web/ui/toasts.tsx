import { useSyncExternalStore } from "react";
import { Button } from "./button.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

const SHOWN_MS = 10_000;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Shows a message for ten seconds. Failures must also be shown where they happened. */
export function toast(text: string, action?: Toast["action"]): void {
  const id = ++lastId;
  set([...toasts.slice(-3), { id, text, action }]);
  setTimeout(() => set(toasts.filter((each) => each.id !== id)), SHOWN_MS);
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
      {shown.map(({ id, text, action }) => (
        <div
          key={id}
          className="pointer-events-auto flex items-center gap-3 rounded-md border border-line bg-surface px-3 py-2 shadow-pop"
        >
          <span>{text}</span>
          {action !== undefined && (
            <Button
              look="ghost"
              className="text-accent"
              onClick={() => {
                action.run();
                set(toasts.filter((each) => each.id !== id));
              }}
            >
              {action.label}
            </Button>
          )}
        </div>
      ))}
    </div>
  );
}
