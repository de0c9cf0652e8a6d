from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from warpglass.report.bundle import BundleError, bundle, join_modules, top_level_names
from warpglass.resources import resource_dir


def test_modules_are_joined_in_import_order_once() -> None:
    text = join_modules(
        {
            "main.js": "import { b } from './b.js';\nimport { a } from './a.js';\nconsole.log(a(), b);\n",
            "a.js": "/** doc */\nexport function a() { return 1; } // tail\n",
            "b.js": "import {\n  a,\n} from './a.js';\nexport const b = a() + 1;\n",
            "unused.js": "export const unused = 1;\n",
        }
    )
    assert text == "function a(){return 1;}\nconst b=a()+ 1;\nconsole.log(a(),b);\n"


def test_blanks_go_only_where_they_keep_nothing_apart() -> None:
    source = (
        "const a = 1 + +2 - -3;\nconst b = a / 2;\nconst c = 'x , y' + ` { ${ a } } `;\n"
        "if (a in { a }) throw new Error(typeof a);\n"
    )
    assert join_modules({"main.js": source}) == (
        "const a=1 + +2 - -3;\nconst b=a / 2;\nconst c='x , y' + ` { ${a} } `;\n"
        "if(a in{a})throw new Error(typeof a);\n"
    )


def test_literals_keep_what_looks_like_code() -> None:
    source = (
        "export const x = `import { q } from './q.js'; ${y(`}`)} // kept\n  /* kept */`;\n"
        "const re = /[/*]\\/ \"'`/g; // gone\n"
        "function y(v) { return v / 2 / 1; /* gone\n */ }\n"
    )
    text = join_modules({"main.js": source})
    assert "// kept\n  /* kept */`" in text
    assert "gone" not in text
    assert "/[/*]\\/ \"'`/g" in text
    assert top_level_names(source) == ("x", "re", "y")


def test_all_top_level_names_are_seen() -> None:
    source = (
        "const a = 1, b = [1, 2], { c } = {};\nlet { d, e: f, ...g } = {};\nvar [h, i] = [];\nclass J {}\n"
        "async function k() { const inner = 1; }\nfunction* l() {}\nexport { a, J };\n"
        "export async function m() {}\n"
    )
    assert "".join(top_level_names(source)) == "abcdfghiJklm"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"main.js": "import { a } from './a.js';", "a.js": "const a = 1;"}, "does not export a"),
        ({"main.js": "import { a } from './a.js';"}, "there is no a.js"),
        ({"main.js": "import { a as b } from './a.js';", "a.js": "export const a = 1;"}, "renamed"),
        ({"main.js": "import a from './a.js';", "a.js": ""}, "is understood"),
        ({"main.js": "import { a } from '../a.js';"}, "beside it"),
        ({"main.js": "import { a } from 'https://x.example/a.js';"}, "beside it"),
        ({"main.js": "const a = await import('./a.js');"}, "dynamic import"),
        ({"main.js": "console.log(import.meta.url);"}, "dynamic import"),
        ({"main.js": "export default function a() {}"}, "only exports"),
        ({"main.js": "export { a };"}, "does not declare"),
        (
            {
                "main.js": "import { a } from './a.js';\nconst b = a;",
                "a.js": "export const a = 1; const b = 2;",
            },
            "b is declared at the top level of a.js and main.js",
        ),
        (
            {
                "main.js": "import { a } from './a.js';",
                "a.js": "import { b } from './main.js'; export const a = 1;",
            },
            "import each other",
        ),
        ({"main.js": "const a = '</script>';"}, "end their element"),
        ({"main.js": "const a = '<!--';"}, "end their element"),
        ({"main.js": "const a = 'x\n"}, "not closed"),
        ({"main.js": "const a = `x"}, "not closed"),
        ({"main.js": "/* x"}, "not closed"),
    ],
)
def test_what_cannot_be_joined_is_refused(files: dict[str, str], message: str) -> None:
    with pytest.raises(BundleError, match=message):
        join_modules(files)


@pytest.mark.parametrize("entry", ["main.js", "gallery.js"])
def test_the_projects_own_scripts_join_into_valid_code(entry: str, tmp_path: Path) -> None:
    text = bundle(resource_dir("static_js"), entry)
    assert "import " not in "".join(line for line in text.splitlines() if line.startswith("import"))
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    target = tmp_path / "page.mjs"
    target.write_text(text, encoding="utf-8")
    done = subprocess.run([node, "--check", str(target)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
