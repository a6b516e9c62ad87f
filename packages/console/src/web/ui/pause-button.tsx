import { Pause, Play } from "lucide-react";
import { useHotkey } from "../lib/hotkeys.ts";
import { Button } from "./button.tsx";

/** Freezes the displayed data while the page keeps receiving; `p` does the same. `waiting`: number of new items. */
export function PauseButton({
  isPaused,
  waiting,
  onChange,
}: {
  readonly isPaused: boolean;
  readonly waiting?: number;
  readonly onChange: (isPaused: boolean) => void;
}) {
  useHotkey("p", isPaused ? "Resume" : "Pause", () => onChange(!isPaused), "Live data");
  return (
    <Button
      aria-pressed={isPaused}
      title={isPaused ? "Resume (p)" : "Freeze the display; new data is still received (p)"}
      onClick={() => onChange(!isPaused)}
      icon={isPaused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
    >
      {isPaused ? `Resume${waiting === undefined || waiting === 0 ? "" : ` (${waiting})`}` : "Pause"}
    </Button>
  );
}
