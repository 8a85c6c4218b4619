"""Describe types in words, for the messages of validation errors."""

from msgspec import inspect


def strip_annotations(info: inspect.Type) -> inspect.Type:
    """Return a type without its annotations and without `or None`."""
    while True:
        if isinstance(info, inspect.Metadata):
            info = info.type
        elif isinstance(info, inspect.UnionType):
            (info,) = (member for member in info.types if not isinstance(member, inspect.NoneType))
        else:
            return info


def describe_type(info: inspect.Type) -> str:
    """Describe the values of a type, in words that follow "must be"."""
    match strip_annotations(info):
        case inspect.LiteralType(values):
            return f"one of {{{', '.join(map(str, values))}}}"
        case inspect.FloatType(ge=low, le=high) if low is not None and high is not None:
            return f"between {low} and {high}"
        case inspect.FloatType(gt=low, le=high) if low is not None and high is not None:
            return f"above {low:g} and at most {high:g}"
        case inspect.FloatType(ge=low):
            return "a number" if low is None else f"a number from {low:g}"
        case inspect.IntType(ge=low, le=high):
            whole = "a whole number" if low is None else f"a whole number from {low}"
            return whole if high is None else f"{whole} to {high}"
        case inspect.StrType(max_length=length):
            return "a text" if length is None else f"a text of 1..{length} characters"
        case inspect.BoolType():
            return "true or false"
        case inspect.VarTupleType(item_type=item, max_length=length):
            items = "a list, each item" if length is None else f"a list of at most {length} items, each"
            return f"{items} {describe_type(item)}"
        case inspect.DictType(value_type=value):
            return f"an object, each value {describe_type(value)}"
        case _:
            return "an object"
