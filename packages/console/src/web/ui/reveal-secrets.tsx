import { KeyRound } from "lucide-react";
import { createContext, type ReactNode, useContext, useState } from "react";
import { t } from "../labels/translate.ts";
import { maskedNamed } from "../lib/secrets.ts";
import { Button } from "./button.tsx";

const Revealed = createContext(false);

/** Returns whether secrets are shown here. If there are any, also returns a button that shows them. */
export function useReveal(hasSecrets: boolean): { readonly isRevealed: boolean; readonly button: ReactNode } {
  const [isAsked, setAsked] = useState(false);
  const button = hasSecrets && (
    <Button
      aria-pressed={isAsked}
      className="h-6 text-[12px]"
      onClick={() => setAsked(!isAsked)}
      icon={<KeyRound aria-hidden className="size-3.5" />}
    >
      {t`Reveal secrets`}
    </Button>
  );
  return { isRevealed: isAsked, button };
}

/** Area in which secrets are shown or masked. */
export function RevealArea({ isRevealed, children }: { readonly isRevealed: boolean; readonly children: ReactNode }) {
  return <Revealed value={isRevealed}>{children}</Revealed>;
}

/**
 * Returns the text in the form in which it may be shown and copied here. `isMasked` is true if parts of it are masked.
 */
export function useShown(
  name: string,
  text: string,
): { readonly shown: string; readonly isMasked: boolean; readonly isRevealed: boolean } {
  const isRevealed = useContext(Revealed);
  const shown = isRevealed ? text : maskedNamed(name, text);
  return { shown, isMasked: shown !== text, isRevealed };
}
