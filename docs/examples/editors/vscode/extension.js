// Starts `ptxspec lsp` and connects the editor to it.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async function () {
  const settings = vscode.workspace.getConfiguration("ptxspec");
  const [command, ...args] = settings.get("command");
  client = new LanguageClient(
    "ptxspec",
    "PTX",
    { command, args },
    {
      documentSelector: [{ language: "ptx" }],
      initializationOptions: { site: settings.get("site") },
    },
  );
  await client.start();
};

exports.deactivate = function () {
  return client?.stop();
};
