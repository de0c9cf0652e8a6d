from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from warpglass.report.text import json_for_script, markup, visible

HOSTILE = "</script><!--<script>\u2028\u2029\u202e\x00\ufeff&amp;'\"\ud800"


def test_visible_names_what_cannot_be_seen() -> None:
    assert visible("a\u202eb\x00c\u2028") == "a\\u202eb\\u0000c\\u2028"
    assert visible("tab\tline\nü ×") == "tab\tline\nü ×"


def test_markup_escapes_and_marks() -> None:
    made = markup('<b a="1">&\u202e')
    assert "<b" not in made
    assert "&lt;b a=&#34;1&#34;&gt;&amp;" in made
    assert '<span class="hl-odd" title="invisible character">\\u202e</span>' in made


@given(st.text() | st.just(HOSTILE))
def test_json_in_a_script_is_the_same_json_and_cannot_end_it(text: str) -> None:
    made = str(json_for_script(json.dumps({text: text}, ensure_ascii=False)))
    assert json.loads(made) == {text: text}
    assert not set("<>&\u2028\u2029\u202e\x00\ufeff") & set(made)
    made.encode("utf-8")
