"""Builds a client's own models from the JSON of the API, and keeps count of the fields that were used.

A model is made by its constructor, as a user of the client would make it. Which member is which argument the client says
itself, in the tables from which it writes its requests.
"""

import isodate
from msrest.serialization import Model

from cases import instant


class Builder:
    def __init__(self, models):
        self.models = models
        self.used = set()  # (class, attribute)

    def build(self, name, value):
        """The model of that name; a member of the value that the model lacks is an error."""
        kind = getattr(self.models, name)
        for member, subtypes in kind._subtype_map.items():
            kind = getattr(self.models, subtypes.get(value[member], name))
        rest, arguments = dict(value), {}
        for attribute, how in kind._attribute_map.items():
            if how["key"] in rest:
                arguments[attribute] = self._value(how["type"], rest.pop(how["key"]))
            elif how["key"].lower() in rest:  # `Occurrence`
                arguments[attribute] = self._value(how["type"], rest.pop(how["key"].lower()))
        if rest:
            raise ValueError(f"{kind.__name__} has no {', '.join(rest)}")
        for member in kind._subtype_map or getattr(kind.__mro__[1], "_subtype_map", {}):
            # The class says it: a subtype has no such argument.
            arguments.pop(member, None)
        built = kind(**arguments)
        self.count(built)
        return built

    def _value(self, kind, value):
        if kind.startswith("["):
            return [self._value(kind[1:-1], one) for one in value]
        if kind.startswith("{"):
            return {key: self._value(kind[1:-1], one) for key, one in value.items()}
        if kind == "iso-8601":
            return instant(value)
        if kind == "duration":
            return isodate.parse_duration(value)
        named = getattr(self.models, kind, None)
        if named is None:
            return value
        return self.build(kind, value) if issubclass(named, Model) else named(value)

    def count(self, model):
        """Counts the fields of a model that was written or read, and of all models in it."""
        for attribute, _ in model._attribute_map.items():
            value = getattr(model, attribute)
            if value is None:
                continue
            # What a subtype inherits is its base's, too.
            self.used.update((kind.__name__, attribute) for kind in type(model).__mro__)
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, Model):
                    self.count(one)

    def unused(self):
        """The fields of all models that nobody wrote or read."""
        for name, kind in sorted(vars(self.models).items()):
            if isinstance(kind, type) and issubclass(kind, Model):
                for attribute in kind._attribute_map:
                    if (kind.__name__, attribute) not in self.used:
                        yield f"{name}.{attribute}"
