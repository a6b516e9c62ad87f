import { X } from "lucide-react";
import { useState } from "react";
import { t } from "../../../labels/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { INPUT } from "../../../ui/input-class.ts";
import { PopoverButton } from "../../../ui/popover.tsx";
import {
  BUILT_IN,
  deletePreset,
  type HeaderPreset,
  savedPresets,
  savePreset,
  storable,
  withPreset,
} from "./header-presets.ts";
import type { Row } from "./http-request.ts";

interface PresetsProps {
  readonly rows: readonly Row[];
  readonly onChange: (rows: readonly Row[]) => void;
}

/** Menu that adds the headers of a preset. It can also save the current headers as a preset. */
export function HeaderPresetsMenu(props: PresetsProps) {
  return (
    <PopoverButton
      look="ghost"
      className="h-6 px-1.5"
      opens={{
        label: t`Header presets`,
        className: "flex max-h-96 w-80 flex-col gap-1 overflow-auto",
        content: (close) => <Presets {...props} onClose={close} />,
      }}
    >
      {t`Presets`}
    </PopoverButton>
  );
}

function Presets({ rows, onChange, onClose }: PresetsProps & { readonly onClose: () => void }) {
  const [saved, setSaved] = useState(savedPresets);
  const [name, setName] = useState("");
  const isEmpty = storable(rows).length === 0;
  const apply = (preset: HeaderPreset): void => {
    onChange(withPreset(rows, preset));
    onClose();
  };
  return (
    <>
      <ul className="flex flex-col">
        {[...saved, ...BUILT_IN].map((preset, at) => (
          <li key={`${at < saved.length ? "saved" : "built-in"} ${preset.name}`} className="flex items-center gap-1">
            <button
              type="button"
              className="min-w-0 flex-1 rounded-md px-2 py-1 text-left hover:bg-hover"
              onClick={() => apply(preset)}
            >
              <span className="block truncate">{preset.name}</span>
              <code className="block truncate text-[11px] text-ink-3">
                {preset.headers.map(([header, value]) => `${header}: ${value}`).join(", ")}
              </code>
            </button>
            {at < saved.length && (
              <Button
                look="ghost"
                className="h-6 w-6"
                aria-label={t`Delete the preset ${preset.name}`}
                onClick={() => {
                  deletePreset(preset.name);
                  setSaved(savedPresets());
                }}
                icon={<X aria-hidden className="size-3.5" />}
              />
            )}
          </li>
        ))}
      </ul>
      <form
        className="flex gap-1 border-line border-t pt-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === "" || isEmpty) return;
          savePreset(name, rows);
          setSaved(savedPresets());
          setName("");
        }}
      >
        <input
          aria-label={t`Name of the new preset`}
          placeholder={t`Save the headers as`}
          className={`${INPUT} min-w-0 flex-1`}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Button
          type="submit"
          disabledReason={
            isEmpty
              ? t`No header to save; credentials are never stored`
              : name.trim() === ""
                ? t`Enter a name`
                : undefined
          }
        >
          {t`Save`}
        </Button>
      </form>
      <p className="text-[11px] text-ink-3">{t`Stored in this browser, without credentials.`}</p>
    </>
  );
}
