import { Link } from "@tanstack/react-router";
import { plural, t } from "../../labels/translate.ts";
import type { Binding } from "./triggers.ts";

/** Shows the functions whose triggers fire when the item changes. */
export function TriggerNote({ triggers }: { readonly triggers: readonly Binding[] }) {
  if (triggers.length === 0) return null;
  return (
    <p className="text-warn">
      {plural(triggers.length, "A change activates a trigger:", "A change activates # triggers:")}{" "}
      {triggers.slice(0, 5).map(({ id, function_id }, at) => (
        <span key={id}>
          {at > 0 && ", "}
          <Link to="/triggers/{-$triggerId}" params={{ triggerId: id }} className="underline">
            {function_id}
          </Link>
        </span>
      ))}
      {triggers.length > 5 && t` and ${triggers.length - 5} more`}
    </p>
  );
}
