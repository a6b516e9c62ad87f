import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { DisplayFields } from "../../app/display-fields.tsx";
import { resetPreferences } from "../../app/preferences.ts";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";
import { Section } from "./section.tsx";

export function PreferencesSection() {
  const [resets, setResets] = useState(0);
  const logs = (
    <Link to="/logs/{-$logId}" params={{ logId: undefined }} className="text-accent underline">
      {t`Logs`}
    </Link>
  );
  return (
    <Section
      title={t`Preferences`}
      description={t`Stored in this browser`}
      controls={
        <Button
          onClick={() => {
            resetPreferences();
            setResets(resets + 1);
          }}
        >
          {t`Reset to defaults`}
        </Button>
      }
    >
      <div className="flex max-w-lg flex-col gap-4 p-4">
        <DisplayFields key={resets} />
        <p className="text-ink-2">
          {rich`The columns of ${logs} are not a preference. They are part of the page's URL.`}
        </p>
      </div>
    </Section>
  );
}
