"""Values as a debugger shows them: texts with a limit, children by pages. Nothing here raises because of a value."""

import itertools
import sys
import types

ROW_LIMIT = 16384  # characters of a row of `variables`, of a watch and of a hover
REPL_LIMIT = 1 << 20
CLIPBOARD_LIMIT = 32 << 20
ITEMS_SHOWN = 100  # of each container within a text
DEPTH_SHOWN = 6
INT_BITS_SHOWN = 14000  # Python 3.11 refuses to write more than 4300 digits, and earlier ones take quadratic time
BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("frozenset({", "})"), dict: ("{", "}")}


def describe_failure(error):
    try:
        return "%s: %s" % (type(error).__name__, error)
    except BaseException:
        return type(error).__name__


def type_name(value):
    return type(value).__name__


class Writer:
    """Writes one value's text; stops when there is no room left."""

    def __init__(self, limit):
        self.room = limit
        self.parts = []

    def add(self, text):
        if len(text) > self.room:
            text = text[:max(self.room, 0)] + "..."
            self.room = 0
        else:
            self.room -= len(text)
        self.parts.append(text)

    def add_cut(self, value):
        """A long str or bytes: its start and its end."""
        half = max(self.room // 2, 8)
        if len(value) > 2 * half:
            self.parts.append(repr(value[:half])[:-1] + "..." + repr(value[-half:])[1 if isinstance(value, str) else 2:])
            self.room = 0
        else:
            self.add(repr(value))

    def add_items(self, value, depth):
        opening, closing = BRACKETS[type(value)]
        if not value:
            self.add(repr(value))
            return
        if depth == DEPTH_SHOWN:
            self.add(opening + "..." + closing)
            return
        self.add(opening)
        items = value.items() if type(value) is dict else value
        for index, item in enumerate(items):
            if index:
                self.add(", ")
            if index == ITEMS_SHOWN * 10 or self.room <= 0:
                self.add("...")
                break
            if type(value) is dict:
                self.add_value(item[0], depth + 1)
                self.add(": ")
                item = item[1]
            self.add_value(item, depth + 1)
        self.add(",)" if type(value) is tuple and len(value) == 1 else closing)

    def add_value(self, value, depth=0):
        kind = type(value)
        if kind is str or kind is bytes:
            self.add_cut(value)
        elif kind is int and value.bit_length() > INT_BITS_SHOWN:
            self.add("<int of %d bits>" % value.bit_length())
        elif kind in BRACKETS:
            self.add_items(value, depth)
        else:
            text = repr(value)
            if len(text) > self.room:
                half = max(self.room // 2, 8)
                text = text[:half] + "..." + text[-half:]
                self.room = 0
                self.parts.append(text)
            else:
                self.add(text)


def value_text(value, limit=ROW_LIMIT):
    """repr(), but bounded, and a text even where that fails."""
    writer = Writer(limit)
    try:
        writer.add_value(value)
        return "".join(writer.parts)
    except BaseException as error:
        return "<%s: its repr() failed: %s>" % (type_name(value), describe_failure(error))


# --- children ---

FAILED = ("readOnly", "failedEvaluation")
READ_ONLY = ("readOnly",)
RETURNED = "(return)"


class Row:
    """A child: its name, its value, the Python expression for it, if there is one, and attributes of its
    presentationHint."""

    def __init__(self, name, value, expression=None, attributes=()):
        self.name = name
        self.value = value
        self.expression = expression
        self.attributes = attributes


class Failed:
    """What stands for an attribute that cannot be read."""

    def __init__(self, error):
        self.error = error

    def __repr__(self):
        return "<%s>" % describe_failure(self.error)


def is_array(value):
    return type_name(value) in ("ndarray", "deque", "array", "memmap", "recarray") and not is_flat(value)


def is_flat(value):
    """An array with no dimension has no length."""
    return getattr(value, "shape", None) == ()


def is_sequence(value):
    return isinstance(value, (list, tuple, range)) or is_array(value)


def is_literal(key):
    if type(key) is tuple:
        return all(map(is_literal, key))
    return key is None or type(key) in (str, bytes, int, float, bool)


def attribute_names(value):
    """What the instance has itself, and what C types expose; a property's code is not run."""
    names = set()
    try:
        names.update(name for name in vars(value) if isinstance(name, str))
    except TypeError:
        pass
    plain = (types.GetSetDescriptorType, types.MemberDescriptorType)
    for kind in type(value).__mro__[:-1]:
        names.update(name for name, member in vars(kind).items()
                     if isinstance(member, plain) and not name.startswith("__"))
    return sorted(names, key=lambda name: (name.startswith("__"), name.startswith("_"), name))


SIMPLE = (type(None), bool, int, float, complex, str, bytes, bytearray, type(Ellipsis), range)


class Children:
    """What a value that can be opened consists of; `expression` is its own."""

    def __init__(self, value, expression):
        self.value = value
        self.expression = expression

    def count_indexed(self):
        try:
            if is_sequence(self.value) or isinstance(self.value, (dict, set, frozenset)):
                return len(self.value)
        except BaseException:
            pass
        return 0

    def names(self):
        if type(self.value) in (list, tuple, dict, set, frozenset, range):
            return []
        try:
            return attribute_names(self.value)
        except BaseException:
            return []

    def extend(self, suffix):
        return None if self.expression is None else self.expression + suffix

    def indexed(self, start, stop):
        value = self.value
        if is_sequence(value):
            for index in range(start, stop):
                yield Row(str(index), value[index], self.extend("[%d]" % index))
        elif isinstance(value, dict):
            for key, item in itertools.islice(value.items(), start, stop):
                suffix = self.extend("[%r]" % (key,)) if is_literal(key) else None
                yield Row(value_text(key, 200), item, suffix)
        else:
            for index, item in enumerate(itertools.islice(iter(value), start, stop), start):
                yield Row(str(index), item)

    def named(self, names):
        for name in names:
            try:
                value = getattr(self.value, name)
            except BaseException as error:
                yield Row(name, Failed(error), attributes=FAILED)
            else:
                yield Row(name, value, self.extend("." + name) if name.isidentifier() else None)

    def rows(self, start, count, only):
        """`count` 0 is all; `only` is "indexed", "named" or None."""
        indexed = 0 if only == "named" else self.count_indexed()
        names = [] if only == "indexed" else self.names()
        stop = indexed + len(names) if not count else start + count
        try:
            if start < indexed:
                yield from self.indexed(start, min(stop, indexed))
        except BaseException as error:  # a container that lies about its length, or changes meanwhile
            yield Row("...", Failed(error), attributes=FAILED)
        yield from self.named(names[max(start - indexed, 0):max(stop - indexed, 0)])

    def assign(self, name, value):
        target = self.value
        if isinstance(target, dict):
            for key in target:
                if value_text(key, 200) == name:
                    target[key] = value
                    return
            raise KeyError(name)
        if is_sequence(target) and name.isdigit():
            target[int(name)] = value
        elif isinstance(target, (set, frozenset)):
            raise TypeError("what is in a set cannot be replaced")
        else:
            setattr(target, name, value)


def can_open(value):
    if isinstance(value, SIMPLE) or isinstance(value, (Failed, types.BuiltinFunctionType)):
        return False
    children = Children(value, None)
    return bool(children.count_indexed() or children.names())


class Space:
    """A scope's children: a frame's locals or globals. `returned` holds the value that the frame is about to return."""

    def __init__(self, frame, is_local, returned=None):
        self.frame = frame
        self.is_local = is_local
        self.returned = returned or ()

    def mapping(self):
        return self.frame.f_locals if self.is_local else self.frame.f_globals

    def names(self):
        names = [name for name in list(self.mapping()) if isinstance(name, str) and name != "__builtins__"]
        if not self.is_local or self.frame.f_locals is self.frame.f_globals:
            names.sort(key=lambda name: (name.startswith("__"), name.startswith("_"), name))
        return names

    def count_indexed(self):
        return 0

    def rows(self, start, count, only):
        mapping = self.mapping()
        rows = [Row(RETURNED, value, attributes=READ_ONLY) for value in self.returned]
        rows += [Row(name, mapping[name], name if name.isidentifier() else None)
                 for name in self.names() if name in mapping]
        if only == "indexed":
            rows = []
        return rows[start:start + count] if count else rows[start:]

    def assign(self, name, value):
        if self.returned and name == RETURNED:
            raise TypeError("what is returned cannot be replaced")
        mapping = self.mapping()
        mapping[name] = value
        if self.is_local:
            write_back(self.frame, mapping)


def write_back(frame, mapping):
    """Before Python 3.13 a frame's f_locals, `mapping`, are a copy; asking for them once more would undo changes."""
    if sys.version_info < (3, 13) and mapping is not frame.f_globals:
        import ctypes
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))


class References:
    """The `variablesReference`s of one stop. Numbers are never used again: a late request finds nothing."""

    def __init__(self):
        self.last = 0
        self.open = {}

    def clear(self):
        self.open.clear()

    def add(self, children):
        self.last += 1
        self.open[self.last] = children
        return self.last

    def describe(self, value, expression=None, limit=ROW_LIMIT):
        """The fields that variables, evaluate and setVariable share; the text is under "value"."""
        fields = {"value": value_text(value, limit), "type": type_name(value), "variablesReference": 0}
        if can_open(value):
            children = Children(value, expression)
            fields["variablesReference"] = self.add(children)
            indexed = children.count_indexed()
            if indexed > ITEMS_SHOWN:
                fields["indexedVariables"] = indexed
                fields["namedVariables"] = len(children.names())
        return fields

    def variable(self, row):
        fields = {"name": row.name, **self.describe(row.value, row.expression)}
        if row.expression is not None:
            fields["evaluateName"] = row.expression
        if row.attributes:
            fields["presentationHint"] = {"attributes": row.attributes}
        return fields
