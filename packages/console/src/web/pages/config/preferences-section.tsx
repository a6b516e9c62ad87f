import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { DisplayFields } from "../../app/display-fields.tsx";
import { resetPreferences } from "../../app/preferences.ts";
import { Button } from "../../ui/button.tsx";
import { Section } from "./section.tsx";

export function PreferencesSection() {
  const [round, setRound] = useState(0);
  return (
    <Section
      title="Preferences"
      description="Kept in this browser"
      controls={
        <Button
          onClick={() => {
            resetPreferences();
            setRound(round + 1);
          }}
        >
          As they were at first
        </Button>
      }
    >
      <div className="flex max-w-lg flex-col gap-4 p-4">
        <DisplayFields key={round} />
        <p className="text-ink-2">
          The columns of{" "}
          <Link to="/logs/{-$logId}" params={{ logId: undefined }} className="text-accent underline">
            Logs
          </Link>{" "}
          are no preference: they stand in its address, and without them it has its columns as at first.
        </p>
      </div>
    </Section>
  );
}
