import { Pause, Play } from "lucide-react";
import { t } from "../labels/translate.ts";
import { useHotkey } from "../lib/hotkeys.ts";
import { Button } from "./button.tsx";

/**
 * Button that freezes the displayed data. The page still receives data. The key `p` does the same. `waiting` is the
 * number of new items.
 */
export function PauseButton({
  isPaused,
  waiting,
  onChange,
}: {
  readonly isPaused: boolean;
  readonly waiting?: number;
  readonly onChange: (isPaused: boolean) => void;
}) {
  useHotkey("p", isPaused ? t`Resume` : t`Pause`, () => onChange(!isPaused), t`Live data`);
  return (
    <Button
      aria-pressed={isPaused}
      title={isPaused ? t`Resume (p)` : t`Freeze the display; new data is still received (p)`}
      onClick={() => onChange(!isPaused)}
      icon={isPaused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
    >
      {isPaused ? `${t`Resume`}${waiting === undefined || waiting === 0 ? "" : ` (${waiting})`}` : t`Pause`}
    </Button>
  );
}
