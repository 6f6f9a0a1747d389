"""The commands of the help texts and of docs/guides/command-line.md: they run, and do what the page says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from anbexact.cli import COMMANDS, EXAMPLES, main
from anbexact.cli.fit_options import PARAMETER_NAMES
from anbexact.cli.messages import OPTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")


def indented(text):
    """Return the indented blocks of a page, as text without the indent."""
    blocks = re.findall(r"(?:^    .*\n)+", text, flags=re.MULTILINE)
    return [re.sub("^    ", "", block, flags=re.MULTILINE) for block in blocks]


@pytest.fixture
def page_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(r"<!-- file: (\S+) -->\n\n((?:    .*\n)+)", PAGE):
        Path(name).write_text(indented(content)[0], encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("page_files")
def test_commands_of_the_page():
    """All of them in one shell, in their order."""
    commands = [line for block in indented(PAGE) for line in block.splitlines() if "anbexact " in line]
    assert len(commands) == 15
    script = "\n".join(["set -e", f'anbexact() {{ {shlex.quote(sys.executable)} -m anbexact "$@"; }}', *commands])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "patients.csv: numbers such as 1,5 are read with a decimal comma" in done.stderr
    assert "ignoring the column 'room', not used by model.json" in done.stderr
    header = next(block.strip() for block in indented(PAGE) if block.startswith("id,predicted"))
    lines = done.stdout.splitlines()
    assert [line.split(",")[0] for line in lines[lines.index(header) + 1 :][:2]] == ["0201", "0202"]
    assert Path("answers.xlsx").read_bytes().startswith(b"PK")


def test_the_page_names_all_options_of_models():
    for name in (*PARAMETER_NAMES, "handle_missing", "missing_class", "handle_unknown"):
        assert f"`{OPTIONS[name]}`" in PAGE, name


def test_examples_of_the_help_texts(capsys, monkeypatch):
    """Each is a command line that is understood."""
    for command in COMMANDS:
        monkeypatch.setattr(command, "run", lambda _: None)
    ran = 0
    for text in (EXAMPLES, *(command.EXAMPLES for command in COMMANDS)):
        for line in text.splitlines():
            if "anbexact " in line and "COMMAND" not in line:
                words = re.split(r"\s{3,}|\s>\s", line.split("anbexact ", 1)[1])[0]
                assert main(shlex.split(words)) == 0, line
                ran += 1
    assert ran >= 18
    assert capsys.readouterr().err == ""
    assert main(["fit", "--help"]) == 0
    assert "models:\n  nb            naive Bayes (NB)" in capsys.readouterr().out
