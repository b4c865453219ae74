"""What a person is asked about: how much of each file they have not seen is said, to the line."""

from regreen.cli.approving import unseen


def of_file(name: str, lines: int) -> str:
    return f"diff --git a/{name} b/{name}\n" + "+x\n" * (lines - 1)


def said(about: str, size: int) -> list[str]:
    return [line.text for line in unseen(about).page(size)[1].said()]


def test_what_is_shown_in_full_leaves_nothing_to_say():
    shown, left = unseen(of_file("a.py", 400)).page()
    assert len(shown) == 400 and not left and list(left.said()) == []


def test_a_file_that_is_cut_and_those_behind_it_are_named_with_their_lines():
    about = of_file("a.py", 10) + of_file("b c.py", 10) + of_file("d.py", 1)
    assert said(about, 15) == ["NOT SHOWN: 5 of 10 lines of b c.py", "NOT SHOWN: 1 of 1 line of d.py"]


def test_of_very_many_files_all_lines_are_counted():
    told = said("".join(of_file(f"f{n}.py", 10) for n in range(100)), 5)
    assert told[0] == "NOT SHOWN: 5 of 10 lines of f0.py"
    assert len(told) == 21 and told[-1] == "NOT SHOWN: 800 lines of 80 more files"


def test_words_that_are_no_diff_are_counted_too():
    assert said("a\nb\nc", 2) == ["NOT SHOWN: 1 of 3 lines"]
    assert said("", 2) == []


def test_a_line_of_a_file_cannot_pass_for_the_beginning_of_another_one():
    assert said(of_file("a.py", 3) + "+diff --git a/z.py b/z.py\n" * 2, 2) == ["NOT SHOWN: 3 of 5 lines of a.py"]


def test_pages_follow_each_other_to_the_end():
    left, seen = unseen(of_file("a.py", 1001)), []
    while left:
        shown, left = left.page(300)
        seen += shown
    assert len(seen) == 1001 and seen == list(left.lines)
