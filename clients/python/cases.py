"""The table of cases, and how what was written is compared with what is read back."""

import datetime
import json
import re
from pathlib import Path

import isodate


class Cases:
    def __init__(self, path):
        self.table = json.loads(Path(path).read_text(encoding="utf-8"))

    def __getitem__(self, name):
        return self.table[name]

    def expected(self, case):
        """What is to be read back of a body: all of it but the secrets, and what the server fills in."""
        return merged(self.plain(without(case["body"], self["secrets"])), self.plain(case.get("answered", {})))

    def plain(self, value, name=""):
        """A form in which equal values are equal: words in small letters, times as instants, durations as seconds."""
        if isinstance(value, dict):
            # `Occurrence` is the one member that some write with a capital.
            return {key[0].lower() + key[1:]: self.plain(one, key) for key, one in value.items()}
        if isinstance(value, list):
            return [self.plain(one, name) for one in value]
        if name in self["words"]:
            return value.lower()
        if name in self["instants"]:
            at = instant(value)
            return (at if at.tzinfo else at.replace(tzinfo=datetime.timezone.utc)).timestamp()
        if name in self["durations"]:
            return isodate.parse_duration(value).total_seconds()
        return value


def instant(text):
    """A date-time; a `datetime` without a zone where the text has none."""
    # Python 3.10 reads neither `Z` nor fractions of any length.
    text = re.sub(r"Z$", "+00:00", text)
    text = re.sub(r"\.(\d+)", lambda digits: "." + digits[1][:6].ljust(6, "0"), text)
    return datetime.datetime.fromisoformat(text)


def without(value, names):
    if isinstance(value, dict):
        return {key: without(one, names) for key, one in value.items() if key not in names}
    if isinstance(value, list):
        return [without(one, names) for one in value]
    return value


def merged(value, patch):
    """`value` with the members of `patch`, at every depth."""
    if not isinstance(value, dict) or not isinstance(patch, dict):
        return patch
    return value | {key: merged(value.get(key), one) for key, one in patch.items()}


def differences(expected, found, path=""):
    """Where two values are not the same, as texts."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in sorted(expected.keys() | found.keys()):
            yield from differences(expected.get(name), found.get(name), f"{path}.{name}".lstrip("."))
    elif expected != found:
        yield f"{path}: expected {expected!r}, found {found!r}"
