"""The configurations of editors that the guide shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from ptxspec.cli import main

ROOT = Path(__file__).resolve().parents[2]
EDITORS = ROOT / "docs" / "examples" / "editors"
COMMAND = ["ptxspec", "lsp"]


def test_the_extension_for_vs_code() -> None:
    folder = EDITORS / "vscode"
    package = json.loads((folder / "package.json").read_text())
    (language,) = package["contributes"]["languages"]
    assert language["id"] == "ptx" and language["extensions"] == [".ptx"]
    configuration = json.loads((folder / language["configuration"]).read_text())
    assert configuration["comments"]["lineComment"] == "//" and re.fullmatch(configuration["wordPattern"], "%r1")
    settings = package["contributes"]["configuration"]["properties"]
    assert settings["ptxspec.command"]["default"] == COMMAND
    code = (folder / package["main"]).read_text()
    for name in re.findall(r'settings\.get\("(\w+)"\)', code):
        assert f"ptxspec.{name}" in settings
    assert set(re.findall(r'require\("([\w-]+)', code)) - {"vscode"} == set(package["dependencies"])


def test_the_extension_is_javascript_and_starts_the_command() -> None:
    """It is run with stand-ins for the editor and for the client."""
    if shutil.which("node") is None:
        reason = "NO NODE: that the extension for VS Code runs was NOT tested"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    program = """
const Module = require("module"), load = Module._load;
class LanguageClient {
  constructor(...given) { console.log(JSON.stringify(given)); }
  async start() { console.log("started"); }
  async stop() { console.log("stopped"); }
}
const settings = { get: (name) => JSON.parse(process.argv[2]).contributes.configuration.properties["ptxspec." + name].default };
const editor = { workspace: { getConfiguration: () => settings } };
Module._load = (name, ...rest) => name === "vscode" ? editor : name.startsWith("vscode-") ? { LanguageClient } : load(name, ...rest);
const extension = require(process.argv[1]);
extension.activate().then(() => extension.deactivate());
"""
    folder = EDITORS / "vscode"
    words = ["node", "-e", program, str(folder / "extension.js"), (folder / "package.json").read_text()]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    given, *rest = run.stdout.splitlines()
    assert rest == ["started", "stopped"]
    assert json.loads(given)[2:] == [
        {"command": COMMAND[0], "args": COMMAND[1:]},
        {"documentSelector": [{"language": "ptx"}], "initializationOptions": {"site": ""}},
    ]


def test_helix() -> None:
    found = tomllib.loads((EDITORS / "languages.toml").read_text())
    server = found["language-server"]["ptxspec"]
    assert [server["command"], *server["args"]] == COMMAND
    (language,) = found["language"]
    assert language["name"] == "ptx" and language["language-servers"] == ["ptxspec"]


@pytest.mark.parametrize("name", ["neovim.lua", "neovim-0.8.lua"])
def test_neovim(name: str) -> None:
    """No Lua is here to read it; the command is the right one, and what is opened is closed."""
    text = (EDITORS / name).read_text()
    assert 'cmd = { "ptxspec", "lsp" }' in text and 'extension = { ptx = "ptx" }' in text
    for opens, closes in ("()", "{}", "[]"):
        assert text.count(opens) == text.count(closes)
    assert len(re.findall(r"\bfunction\b", text)) == len(re.findall(r"\bend\b", text))


def test_the_command_they_start() -> None:
    said = CliRunner().invoke(main, [*COMMAND[1:], "--help"], standalone_mode=False).output
    assert "language server" in said and "--site" in said


def test_the_guide_shows_them_all() -> None:
    text = (ROOT / "docs" / "how-to" / "edit-ptx.md").read_text()
    shown = set(re.findall(r"\{literalinclude\} \.\./examples/editors/(\S+)", text))
    assert shown == {"vscode/extension.js", "neovim.lua", "neovim-0.8.lua", "languages.toml"}
    assert all((EDITORS / name).is_file() for name in shown)
