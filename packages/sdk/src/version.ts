/** Version of this package; a test holds it equal to package.json, which a browser cannot read. */
export const VERSION = "0.1.0";
