"""``// warpglass:`` comments become pairs of text."""

from hypothesis import given
from hypothesis import strategies as st

from warpglass.inputs.comments import find_comments


def test_pairs_lines_and_quotes():
    text = 'a\n// warpglass: grid=4,2 block=256 label="two words" note\n/* warpglass: n=7 */\n'
    first, second = find_comments(text)
    assert first.line == 2
    assert first.pairs == (("grid", "4,2"), ("block", "256"), ("label", "two words"))
    assert first.rest == ("note",)
    assert (second.line, second.pairs) == (3, (("n", "7"),))


def test_other_comments_are_none():
    assert find_comments("// warp glass: grid=4\n// see warpglass.toml: x=1\n") == ()


def test_many_comments_are_bounded():
    assert len(find_comments("// warpglass: a=1\n" * 5000)) == 1000


@given(st.text(max_size=300))
def test_any_text(text):
    assert all(comment.line >= 1 for comment in find_comments("// warpglass: " + text))
