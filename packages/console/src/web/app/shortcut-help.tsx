import { useState } from "react";
import { t } from "../labels/translate.ts";
import { hotkeys, keysText, shortcutsAreOn, switchShortcuts } from "../lib/hotkeys.ts";
import { Dialog } from "../ui/dialog.tsx";

/** Lists all active shortcuts from the registry. */
export default function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  const [isOn, setOn] = useState(shortcutsAreOn());
  const shown = hotkeys().filter(({ keys }) => keys !== "never" && keys !== "Escape");
  const scopes = [...new Set(shown.map(({ scope }) => scope))];
  return (
    <Dialog
      open
      onClose={onClose}
      title={t`Keyboard shortcuts`}
      description={t`They do not work in input fields, except those with ⌘ or Ctrl.`}
    >
      {scopes.map((scope) => (
        <section key={scope} className="mb-3">
          <h3 className="mb-1 font-medium text-ink-2">{scope}</h3>
          <dl className="grid grid-cols-[7rem_1fr] gap-y-1">
            {shown
              .filter((hotkey) => hotkey.scope === scope)
              .map(({ keys, label }) => (
                <div key={keys + label} className="contents">
                  <dt>
                    <kbd className="rounded border border-line bg-raised px-1.5 py-0.5">{keysText(keys)}</kbd>
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => {
            switchShortcuts(event.target.checked);
            setOn(event.target.checked);
          }}
        />
        {t`Shortcuts of single keys`}
      </label>
    </Dialog>
  );
}
