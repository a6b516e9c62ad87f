/** Translated text, or one for each category of `Intl.PluralRules`. */
type Translation = string | Readonly<Record<string, string>>;
type Translations = Readonly<Record<string, Translation>>;

const ENGLISH = "en";
const LANGUAGE_KEY = "svc.language";
const LABELS_KEY = "svc.labels";
/** Maximum wait for a catalogue, in milliseconds. */
const TIMEOUT_MS = 10_000;

// Translations come from the browser's storage and not from the server, because some labels are constants. Constants
// are evaluated when the code is loaded, before a response of the server can arrive. Tests run without storage.
const storage: Storage | undefined = globalThis.localStorage;
const stored = storage?.getItem(LABELS_KEY) ?? undefined;
const translations = parse(stored);
/** Language of the page, as a BCP 47 tag. */
export const language = translations === undefined ? ENGLISH : (storage?.getItem(LANGUAGE_KEY) ?? ENGLISH);
/** Translations by the keys of `t` and `plural`. Undefined in English. */
export const catalogue = translations === undefined ? undefined : byKey(translations);

/**
 * Language that the address requests with `?lang=`. The parameter is then removed from the address, because no page
 * uses it.
 */
const asked = takeParameter();

function takeParameter(): string | undefined {
  if (globalThis.location === undefined) return undefined;
  const address = new URL(location.href);
  const value = address.searchParams.get("lang");
  if (value === null) return undefined;
  address.searchParams.delete("lang");
  history.replaceState(history.state, "", address.href);
  return value;
}

/** Parses stored translations. Returns undefined if the text is not a catalogue. */
function parse(text: string | undefined): Translations | undefined {
  try {
    const found: unknown = JSON.parse(text ?? "null");
    const isText = (value: unknown): boolean => typeof value === "string";
    const isTexts = (value: unknown): value is object => typeof value === "object" && value !== null;
    const isTranslation = (value: unknown): boolean =>
      isText(value) || (isTexts(value) && Object.values(value).every(isText));
    return isTexts(found) && Object.values(found).every(isTranslation) ? (found as Translations) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the translations with numbered placeholders (`{0}`) instead of named ones (`{count}`). The keys of `t` and
 * `plural` have numbered placeholders, because a template does not know the names of its values.
 */
function byKey(named: Translations): ReadonlyMap<string, Translation> {
  return new Map(
    Object.entries(named).map(([key, translation]) => {
      const names: readonly string[] = key.match(/\{\w+\}/g) ?? [];
      const numbered = (text: string): string =>
        text.replace(/\{\w+\}/g, (name) => (names.includes(name) ? `{${names.indexOf(name)}}` : name));
      return [
        numbered(key),
        typeof translation === "string"
          ? numbered(translation)
          : Object.fromEntries(Object.entries(translation).map(([category, text]) => [category, numbered(text)])),
      ];
    }),
  );
}

/**
 * Fetches the current translations of the requested language, or of the page's language if none is requested, and
 * stores them. Resolves to true if they differ from those in use. The page must then be reloaded.
 */
export async function updateCatalogue(): Promise<boolean> {
  document.documentElement.lang = language;
  const wanted = asked ?? language;
  if (wanted === ENGLISH) {
    storage?.removeItem(LABELS_KEY);
    return stored !== undefined;
  }
  if (!/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/.test(wanted)) return false;
  try {
    // The constructor throws if the tag is invalid.
    new Intl.PluralRules(wanted);
    const response = await fetch(`/labels/${wanted}.json`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = await response.text();
    if (!response.ok || parse(text) === undefined || text === stored) return false;
    storage?.setItem(LANGUAGE_KEY, wanted);
    storage?.setItem(LABELS_KEY, text);
    return true;
  } catch {
    // After a failure, the page stays in its present language.
    return false;
  }
}
