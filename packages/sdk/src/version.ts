/** Version of this package. A test keeps it equal to package.json, which a browser cannot read. */
export const VERSION = "0.1.0";
