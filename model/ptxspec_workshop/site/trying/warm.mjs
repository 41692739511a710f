// Runs warm.py in Pyodide under Node.js: node warm.mjs PACKAGE warm.py WORK [library]. It reads WORK/sources.tar, and writes
// WORK/definitions.tar and, if the standard library is wanted too, WORK/python.zip.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [source, program, work, library] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.join(source, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: source });
const bytes = (file) => new Uint8Array(fs.readFileSync(file));
python.FS.writeFile("/sources.tar", bytes(path.join(work, "sources.tar")));
const made = ["definitions.tar"];
if (library) {
  python.FS.writeFile("/stdlib.zip", bytes(path.join(source, "python_stdlib.zip")));
  made.push("python.zip");
}
python.runPython(fs.readFileSync(program, "utf8"));
for (const name of made) fs.writeFileSync(path.join(work, name), python.FS.readFile("/" + name));
process.exit(0);
