"""YAML as people mean it, and what is refused."""

import pytest

from infra.yaml_file import YamlError, values_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2026-12-01", "2026-12-01"),
        ("0123", "0123"),
        ("1_000", "1_000"),
        ("true", True),
        ("80", 80),
        ("0.95", 0.95),
        ("-1", -1),
        ("null", None),
        ("", None),
        ('"80"', "80"),
        ("[a, 1]", ["a", 1]),
    ],
)
def test_a_value_is_what_people_mean(text: str, value: object) -> None:
    assert values_of(f"key: {text}\n") == {"key": value}


def test_norwegian_is_a_language() -> None:
    assert values_of("stop_words:\n  no: {add: [stopp]}\n")["stop_words"] == {
        "no": {"add": ["stopp"]}
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: a is here again, after line 1"),
        ("list:\n  - a: 1\n    a: 2\n", "line 3: a is here again, after line 2"),
        ("1: a\n", "line 1: write the key 1 in quotation marks"),
        ("[1]: a\n", "in quotation marks"),
        ("- a\n", "a mapping is wanted"),
        ("", "a mapping is wanted"),
        ("a: [\n", "line 2"),
        ("a: !!python/name:os.system\n", "could not determine a constructor"),
        ("a: *b\n", "undefined alias"),
    ],
)
def test_what_is_no_document_of_ours_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(YamlError) as raised:
        values_of(text)
    assert problem in str(raised.value)


def test_every_key_that_comes_twice_is_told_at_once() -> None:
    with pytest.raises(YamlError) as raised:
        values_of("a: 1\na: 2\nb: 1\nb: 2\n")
    assert len(str(raised.value).splitlines()) == 2
