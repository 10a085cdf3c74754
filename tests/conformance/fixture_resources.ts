/** The resources that the conformance suite asks for. */
import type { ResourceFamily } from "../../src/mcp/resource.ts";
import { pngBase64 } from "./fixture_media.ts";

const dataPattern = /^test:\/\/template\/([^/]+)\/data$/;

/** The family `test:`. */
export const testResources: ResourceFamily = {
  name: "test",
  scopes: [],
  owns: (uri) => uri.startsWith("test://"),
  list: () => [
    { uri: "test://static-text", name: "static_text", description: "A text", mimeType: "text/plain" },
    { uri: "test://static-binary", name: "static_binary", description: "An image", mimeType: "image/png" },
  ],
  templates: [{
    uriTemplate: "test://template/{id}/data",
    name: "template_data",
    description: "Data by id",
    mimeType: "application/json",
  }],
  stamp: () => Promise.resolve(""), // they never change
  cacheHint: { ttlMs: 1_000, cacheScope: "private" },
  read(uri) {
    switch (uri) {
      case "test://static-text":
        return {
          contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }],
        };
      case "test://static-binary":
        return { contents: [{ uri, mimeType: "image/png", blob: pngBase64 }] };
      case "test://watched-resource":
        return { contents: [{ uri, mimeType: "text/plain", text: "Watched." }] };
    }
    const id = dataPattern.exec(uri)?.[1];
    if (id === undefined) return null;
    return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true }) }] };
  },
};
