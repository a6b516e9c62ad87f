import { DisplayFields } from "../../app/display-fields.tsx";
import { Section } from "./section.tsx";

export function PreferencesSection() {
  return (
    <Section title="Preferences" description="Kept in this browser">
      <div className="max-w-lg p-4">
        <DisplayFields />
      </div>
    </Section>
  );
}
