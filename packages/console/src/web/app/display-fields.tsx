import { useState } from "react";
import { rich } from "../labels/rich.ts";
import { t } from "../labels/translate.ts";
import { shortcutsAreOn, switchShortcuts } from "../lib/hotkeys.ts";
import { dateTime, setZone, useZone } from "../lib/time.ts";
import { useNow } from "../ui/time.tsx";
import { type Density, setPreference, type Theme, usePreferences } from "./preferences.ts";

const FIELD = "h-8 min-w-0 flex-1 rounded-md border border-line-strong/60 bg-surface px-2";
const ZONES: readonly string[] = Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC");

/** Display preferences of this browser: zone, theme, density, shortcuts. */
export function DisplayFields() {
  const zone = useZone();
  const now = useNow();
  const { theme, density } = usePreferences();
  const [hasShortcuts, setShortcuts] = useState(shortcutsAreOn());
  return (
    <div className="flex flex-col gap-3">
      <label className="flex items-center gap-3">
        <span className="w-24 text-ink-2">{t`Time zone`}</span>
        <select className={FIELD} value={zone} onChange={(event) => setZone(event.target.value)}>
          <option value="local">{t`Local (${Intl.DateTimeFormat().resolvedOptions().timeZone})`}</option>
          <option value="UTC">{t`UTC`}</option>
          {ZONES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <p className="pl-27 text-ink-3">
        {rich`Current time: ${dateTime(now, zone)}. ${<kbd>z</kbd>} switches between local time and UTC.`}
      </p>
      <label className="flex items-center gap-3">
        <span className="w-24 text-ink-2">{t`Theme`}</span>
        <select
          className={FIELD}
          value={theme}
          onChange={(event) => setPreference({ theme: event.target.value as Theme })}
        >
          <option value="system">{t`System`}</option>
          <option value="light">{t`Light`}</option>
          <option value="dark">{t`Dark`}</option>
        </select>
      </label>
      <label className="flex items-center gap-3">
        <span className="w-24 text-ink-2">{t`Density`}</span>
        <select
          className={FIELD}
          value={density}
          onChange={(event) => setPreference({ density: event.target.value as Density })}
        >
          <option value="comfortable">{t`Comfortable`}</option>
          <option value="compact">{t`Compact`}</option>
        </select>
      </label>
      <label className="flex items-center gap-3">
        <span className="w-24 text-ink-2">{t`Shortcuts`}</span>
        <input
          type="checkbox"
          checked={hasShortcuts}
          onChange={(event) => {
            switchShortcuts(event.target.checked);
            setShortcuts(event.target.checked);
          }}
        />
        {t`of single keys`}
      </label>
    </div>
  );
}
