/** Jupyter notebooks (nbformat 4): a part for each cell, and one for its outputs, which are given where they are asked for. */
import { type DocumentReader, DocumentRefusal } from "./document.ts";
import { countOf } from "./markdown.ts";
import * as z from "zod";

const lines = z.union([z.string(), z.array(z.string())]).transform((text) =>
  Array.isArray(text) ? text.join("") : text
);
const output = z.object({
  text: lines.optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  ename: z.string().optional(),
  evalue: z.string().optional(),
});
const cell = z.object({ cell_type: z.string(), source: lines, outputs: z.array(output).catch([]).default([]) });
const notebook = z.object({
  cells: z.array(cell),
  metadata: z.object({ language_info: z.object({ name: z.string() }) }).catch({ language_info: { name: "" } }),
});

export const readNotebook: DocumentReader = (bytes) => {
  const { success, data } = notebook.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
  if (!success) throw new DocumentRefusal("it is no notebook of Jupyter's format 4");
  const { cells, metadata: { language_info: { name: language } } } = data;
  const parts = cells.flatMap(({ cell_type: type, source, outputs }, index) => {
    const name = `cell ${index + 1}`;
    const text = type === "code" ? `\`\`\`${language}\n${source}\n\`\`\`` : source;
    const shown = outputs.map(outputWords).filter((words) => words !== "").join("\n");
    return [{ name, text }, ...(shown === "" ? [] : [{ name: `${name} outputs`, text: shown }])];
  });
  const outputs = parts.length - cells.length;
  const summary = `${countOf(cells.length, "cell")}, ${outputs} with outputs`;
  return { kind: "ipynb", summary, remarks: [], parts };
};

function outputWords({ text, data = {}, ename, evalue }: z.output<typeof output>): string {
  if (ename !== undefined) return `${ename}: ${evalue ?? ""}`;
  const plain = lines.safeParse(data["text/markdown"] ?? data["text/plain"]).data ?? "";
  const images = Object.keys(data).filter((type) => type.startsWith("image/")).map((type) => `[${type}]`);
  return [text ?? "", plain, ...images].filter((words) => words !== "").join("\n").trimEnd();
}
