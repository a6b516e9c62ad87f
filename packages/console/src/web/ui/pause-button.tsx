import { Pause, Play } from "lucide-react";
import { useHotkey } from "../lib/hotkeys.ts";
import { Button } from "./button.tsx";

/** Freezes what is shown while the page goes on receiving; `p` does the same. `waiting`: how much has come meanwhile. */
export function PauseButton({
  isPaused,
  waiting,
  onChange,
}: {
  readonly isPaused: boolean;
  readonly waiting?: number;
  readonly onChange: (isPaused: boolean) => void;
}) {
  useHotkey("p", isPaused ? "Go on" : "Pause", () => onChange(!isPaused), "Live data");
  return (
    <Button
      aria-pressed={isPaused}
      title={isPaused ? "Go on (p)" : "Freeze what is shown; what comes meanwhile is kept (p)"}
      onClick={() => onChange(!isPaused)}
      icon={isPaused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
    >
      {isPaused ? `Go on${waiting === undefined || waiting === 0 ? "" : ` (${waiting})`}` : "Pause"}
    </Button>
  );
}
