import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "../labels/translate.ts";
import { copyText } from "../lib/clipboard.ts";
import { Button } from "./button.tsx";

const SHOWN_MS = 1_500;
const LABELS = {
  idle: undefined,
  waiting: undefined,
  copied: t`Copied`,
  unread: t`Failed to read the text`,
  failed: t`The browser refused`,
} as const;

/** Button that copies a text to the clipboard and confirms that. If the text is a promise, it waits for it. */
export function CopyButton({
  text,
  label,
  withText = false,
  className,
}: {
  readonly text: string | (() => string | Promise<string>);
  readonly label: string;
  readonly withText?: boolean;
  readonly className?: string;
}) {
  const [state, setState] = useState<keyof typeof LABELS>("idle");
  useEffect(() => {
    if (state === "idle" || state === "waiting") return;
    const timer = setTimeout(() => setState("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (): void => {
    const given = typeof text === "string" ? text : text();
    if (typeof given !== "string") {
      setState("waiting");
      given.catch(() => setState("unread"));
    }
    copyText(given).then(
      () => setState("copied"),
      () => setState((before) => (before === "unread" ? before : "failed")),
    );
  };
  const shownLabel = LABELS[state] ?? label;
  return (
    <Button
      look={withText ? "plain" : "ghost"}
      className={className}
      onClick={copy}
      isPending={state === "waiting"}
      aria-label={shownLabel}
      title={shownLabel}
      icon={
        state === "copied" ? (
          <Check aria-hidden className="size-3.5 text-ok" />
        ) : (
          <Copy aria-hidden className="size-3.5" />
        )
      }
    >
      {withText ? shownLabel : undefined}
    </Button>
  );
}
