import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { DisplayFields } from "../../app/display-fields.tsx";
import { resetPreferences } from "../../app/preferences.ts";
import { Button } from "../../ui/button.tsx";
import { Section } from "./section.tsx";

export function PreferencesSection() {
  const [resets, setResets] = useState(0);
  return (
    <Section
      title="Preferences"
      description="Stored in this browser"
      controls={
        <Button
          onClick={() => {
            resetPreferences();
            setResets(resets + 1);
          }}
        >
          Reset to defaults
        </Button>
      }
    >
      <div className="flex max-w-lg flex-col gap-4 p-4">
        <DisplayFields key={resets} />
        <p className="text-ink-2">
          The columns of{" "}
          <Link to="/logs/{-$logId}" params={{ logId: undefined }} className="text-accent underline">
            Logs
          </Link>{" "}
          are not a preference. They are part of the page's URL.
        </p>
      </div>
    </Section>
  );
}
