import { z } from "zod";

const fileSchema = z
  .string()
  .min(1)
  .refine((path) => !path.includes("\0"), { message: "cannot hold a NUL character" });

/** TLS of one listener, as a block of the config file may say. */
export const tlsBlockSchema = z
  .strictObject({
    cert: fileSchema.meta({ description: "File of the certificate chain, PEM, relative to this file" }),
    key: fileSchema.meta({ description: "File of its private key, PEM, relative to this file" }),
    client_ca: fileSchema.optional().meta({ description: "File of the authority that signs clients' certificates, PEM; clients without one are refused" }),
  })
  .meta({ description: "Serve TLS: https and wss. Default none" });
export type TlsBlock = z.output<typeof tlsBlockSchema>;
