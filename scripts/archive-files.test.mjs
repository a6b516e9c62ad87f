import { expect, it } from "vitest";
import { archiveFiles } from "./archive-files.mjs";

const LONG =
  "a-folder-with-a-long-name-so-that-the-path-needs-an-extended-header/and-another-one-below-it-which-is-long-too/two.txt";
/** Made by `npm pack`. */
const TARBALL =
  "H4sIAAAAAAAC/+3VzUoDMRDA8Zx9iiVnZ3eW/Sj0bcZmbFbrzLIZ3YL47lKrgiAIpS3U5ncJ5JAQwj8ZafVIa67G/Vg+JBV3ZIjYt23x2/yHZlG4puuxrvse28JhXXdtXzh0Z/CcjCaHeIRDImLxPV6IVy/0xH7pR3/rX3hKg4pf+rrEEv3bjcv+t8/uKxUubWsn2eOv/nfN/+wfu0Wb+z8HFc6RXzGb9WTdH9x/02HbXXj/Xw8rwb1uAk8wDxaBYKOyht2fC0nBIhlYZBjJIghzSEACvDWWwAEiU+CpIglAohZ5AhWGO97oDIPBHIdVhCHtVzXVQ+4/959lWXaF3gEiCfS/ABAAAA==";
/** Made by Python's zipfile, with compressed, empty and stored files. */
const WHEEL =
  "UEsDBBQAAAAIAPcYe10oZavLCQAAAFAAAAAPAAAAc3ZjL19faW5pdF9fLnB5y89L5cqnIgYAUEsDBBQAAAAAAAAAIQAAAAAAAAAAAAAAAAAMAAAAc3ZjL3B5LnR5cGVkUEsDBBQAAAAAAAAAIQB0CBeWBAAAAAQAAAAOAAAAc3ZjL3N0b3JlZC50eHR0d28KUEsBAhQDFAAAAAgA9xh7XShlq8sJAAAAUAAAAA8AAAAAAAAAAAAAAIABAAAAAHN2Yy9fX2luaXRfXy5weVBLAQIUAxQAAAAAAAAAIQAAAAAAAAAAAAAAAAAMAAAAAAAAAAAAAACAATYAAABzdmMvcHkudHlwZWRQSwECFAMUAAAAAAAAACEAdAgXlgQAAAAEAAAADgAAAAAAAAAAAAAAgAFgAAAAc3ZjL3N0b3JlZC50eHRQSwUGAAAAAAMAAwCzAAAAkAAAAAAA";
/** Made by Python's tarfile: a symbolic link. */
const LINK =
  "H4sIAAP0CGsC/+3OMQqDQAAEwHuKPzhPJf+RxEIUEc+Q73uk1NpCmGl2u901zuMyhVvVxavr/lmc89pTSm0dqiYO+zuufc6/z23nvnnvtzIfAAAAAAAAAAAA4DkONbzK3QAoAAA=";

const textsIn = (name, base64) =>
  Object.fromEntries([...archiveFiles(name, Buffer.from(base64, "base64"))].map(([path, data]) => [path, `${data}`]));

it("reads the files of a tarball without its top folder", () => {
  expect(textsIn("p-1.0.0.tgz", TARBALL)).toEqual({
    "package.json": '{"name":"p","version":"1.0.0"}\n',
    "one.txt": "one\n",
    [LONG]: "two\n",
  });
});

it("reads the files of a wheel", () => {
  expect(textsIn("p-1.0.0-py3-none-any.whl", WHEEL)).toEqual({
    "svc/__init__.py": "one\n".repeat(20),
    "svc/py.typed": "",
    "svc/stored.txt": "two\n",
  });
});

it("rejects links, and what is no archive", () => {
  expect(() => textsIn("p-1.0.0.tar.gz", LINK)).toThrow("p/link is neither a file nor a folder (type 2)");
  expect(() => textsIn("p.whl", TARBALL)).toThrow("not a zip archive");
});
