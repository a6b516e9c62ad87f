import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { copyText } from "../lib/clipboard.ts";
import { Button } from "./button.tsx";

const SHOWN_MS = 1_500;

/** Puts text on the clipboard and says that it did. */
export function CopyButton({
  text,
  label,
  withText = false,
  className,
}: {
  readonly text: string | (() => string);
  readonly label: string;
  readonly withText?: boolean;
  readonly className?: string;
}) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (): void => {
    copyText(typeof text === "string" ? text : text()).then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  const said = state === "copied" ? "Copied" : state === "failed" ? "The browser refused" : label;
  return (
    <Button
      look={withText ? "plain" : "ghost"}
      className={className}
      onClick={copy}
      aria-label={said}
      title={said}
      icon={state === "copied" ? <Check aria-hidden className="size-3.5 text-ok" /> : <Copy aria-hidden className="size-3.5" />}
    >
      {withText ? said : undefined}
    </Button>
  );
}
