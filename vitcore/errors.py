"""What went wrong, in a few words: the first line of somebody else's error, short enough to stand in a sentence."""


def first_line(error: BaseException, most: int = 160) -> str:
    """The error's first line, at most `most` characters of it; its kind where it says nothing."""
    return next(iter(str(error).splitlines()), "")[:most] or type(error).__name__
