import { DEFAULT_PLACE, type Place, placeOf } from "../model/example-commands.ts";
import { useHello } from "./use-hello.tsx";

/** Returns the engine's address and the version, which the shown commands contain. */
export function usePlace(): Place {
  const hello = useHello();
  return hello === undefined ? DEFAULT_PLACE : placeOf(hello.engine.bridge, hello.console_version);
}
