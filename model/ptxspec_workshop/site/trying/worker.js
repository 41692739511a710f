// Python beside the page: begins with the files that the page has loaded, then answers one question after the other.
const { XzReadableStream } = self["xz-decompress"];  // which stands before this, in the same file
const unpacked = (bytes) => new Response(new XzReadableStream(new Blob([bytes]).stream())).arrayBuffer();
const module = (bytes) => import(URL.createObjectURL(new Blob([bytes], { type: "text/javascript" })));

// Pyodide takes a worker that is a module. A page that was opened from a disk has none, but what Pyodide needs of one, `import()`,
// is here too.
self.importScripts = undefined;

let reply;

// Puts the files of a tar archive where they belong, with their times, which byte code is compared with.
const placed = (system, bytes) => {
  const text = (from, length) => new TextDecoder().decode(bytes.subarray(from, from + length)).replace(/\0[^]*/, "");
  for (let at = 0; bytes[at]; ) {
    const head = text(at + 345, 155), size = parseInt(text(at + 124, 12), 8), seconds = parseInt(text(at + 136, 12), 8);
    const path = "/" + (head ? head + "/" : "") + text(at, 100);
    system.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    system.writeFile(path, bytes.subarray(at + 512, at + 512 + size));
    system.utime(path, seconds * 1000, seconds * 1000);
    at += 512 + 512 * Math.ceil(size / 512);
  }
};

const begin = async (files) => {
  const names = Object.keys(files);
  const parts = await Promise.all(names.map((name) => unpacked(files[name])));
  const file = Object.fromEntries(names.map((name, i) => [name, parts[i]]));
  const served = { "pyodide.asm.wasm": [file.machine, "application/wasm"], "python_stdlib.zip": [file.library, "application/zip"] };
  // Pyodide fetches two files; everything is here already, and nothing else is fetched from anywhere
  self.fetch = async (address) => {
    const found = served[String(address.url || address).split("/").pop()];
    if (!found) throw new Error("there is no file " + address);
    return new Response(found[0], { headers: { "Content-Type": found[1] } });
  };
  const [{ loadPyodide }, glue] = await Promise.all([module(file.loader), module(file.glue)]);
  const python = await loadPyodide({
    indexURL: "https://files.invalid/",
    lockFileContents: new TextDecoder().decode(file.lock),
    packageBaseUrl: "https://files.invalid/",
    createPyodideModule: glue.default,
  });
  placed(python.FS, new Uint8Array(file.definitions));
  python.runPython('import sys; sys.path[:0] = ["/ptx/model", "/ptx/libraries"]');
  reply = python.runPython("from ptxspec_workshop.site.trying.answers import reply; reply");
};

self.onmessage = async ({ data }) => {
  try {
    if (data.files) await begin(data.files);
    self.postMessage({ id: data.id, answer: data.question ? JSON.parse(reply(JSON.stringify(data.question))) : null });
  } catch (error) {
    self.postMessage({ id: data.id, failure: String(error && error.message ? error.message : error) });
  }
};
