/** A picture that clients may show (MCP 2025-11-25, schema `Icon`). */
export interface Icon {
  readonly src: string;
  readonly mimeType: string;
  readonly sizes: readonly string[];
}
