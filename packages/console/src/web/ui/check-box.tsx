import { cn } from "./cn.ts";

/** A check box with its label. */
export function CheckBox({
  label,
  isOn,
  onChange,
  className,
}: {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  readonly className?: string;
}) {
  return (
    <label className={cn("flex items-center gap-1.5 text-ink-2", className)}>
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
        className="size-4 accent-accent"
      />
      {label}
    </label>
  );
}
