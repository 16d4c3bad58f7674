"""What a check expects, and what it says when it is not so."""


class Mismatch(Exception):
    """Something arrived otherwise than it was sent, or did not."""


def equal(what, found, expected):
    if found != expected:
        raise Mismatch(f"{what}: found {found!r}, expected {expected!r}")


def holds(what, condition):
    if not condition:
        raise Mismatch(what)
