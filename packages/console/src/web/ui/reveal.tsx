import { KeyRound } from "lucide-react";
import { createContext, type ReactNode, useContext, useState } from "react";
import { maskedNamed } from "../lib/secrets.ts";
import { Button } from "./button.tsx";

const Revealed = createContext(false);

/** Whether secrets are shown here, and the button that shows them where there are any. */
export function useReveal(hasSecrets: boolean): { readonly isRevealed: boolean; readonly button: ReactNode } {
  const [isAsked, setAsked] = useState(false);
  const button = hasSecrets && (
    <Button aria-pressed={isAsked} className="h-6 text-[12px]" onClick={() => setAsked(!isAsked)} icon={<KeyRound aria-hidden className="size-3.5" />}>
      Reveal secrets
    </Button>
  );
  return { isRevealed: isAsked, button };
}

/** What is in it shows secrets, or does not. */
export function RevealArea({ isRevealed, children }: { readonly isRevealed: boolean; readonly children: ReactNode }) {
  return <Revealed value={isRevealed}>{children}</Revealed>;
}

/** The text of something with a name as it may be shown and copied here; `isMasked`: that is not all of it. */
export function useShown(name: string, text: string): { readonly shown: string; readonly isMasked: boolean; readonly isRevealed: boolean } {
  const isRevealed = useContext(Revealed);
  const shown = isRevealed ? text : maskedNamed(name, text);
  return { shown, isMasked: shown !== text, isRevealed };
}
