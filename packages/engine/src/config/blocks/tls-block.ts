import { z } from "zod";

const fileSchema = z
  .string()
  .min(1)
  .refine((path) => !path.includes("\0"), { message: "cannot hold a NUL character" });

/** Schema of the TLS block of a listener. */
export const tlsBlockSchema = z
  .strictObject({
    cert: fileSchema.meta({ description: "PEM file of the certificate chain, relative to this file" }),
    key: fileSchema.meta({ description: "PEM file of the private key, relative to this file" }),
    client_ca: fileSchema.optional().meta({
      description: "PEM file of the certificate authority for client certificates. If set, clients must present one",
    }),
  })
  .meta({ description: "Serve TLS: https and wss. Default none" });
export type TlsBlock = z.output<typeof tlsBlockSchema>;
