#
# _layout.py - the fields of an event, as Python declares them, become a layout and a plan of its bytes
#
# SPDX-License-Identifier: MIT

import enum
import itertools
import re

TEXT_MOST = 255   # bytes of a text, or of bytes, unless it is declared
ITEMS_MOST = 255  # items of a counted array
LARGEST = 65535
NAME_MOST = 63    # bytes of the name of an event

# The numbers of enum kind and enum many in src/extension.h.
UNSIGNED, SIGNED, FLOAT, BOOL, TIME, STRING, CHARS, TEXT, BYTES = range(9)
ONE, FIXED, COUNTED = range(3)

KINDS = {'u': UNSIGNED, 'x': UNSIGNED, 'a': UNSIGNED, 'i': SIGNED, 'f': FLOAT, 't': TIME}
PYTHON = {int: 'i64', str: 'z', float: 'f64', bool: 'bool', bytes: 'b[]', bytearray: 'b[]'}
# What is taken for types of layouts, and what to write.
QUOTED = {**{kind.__name__: f'{kind.__name__} without quotation marks is' for kind in PYTHON if kind is not bool},
          'string': 'str without quotation marks is', 'text': 'str without quotation marks is'}
UNITS = {'': 1e9, 's': 1, 'ms': 1e3, 'us': 1e6, 'ns': 1e9}

TYPE = re.compile(r'''(?P<type>[a-z]+)(?P<bits>8|16|32|64|)
                      (?P<labels><(?!=)[^>]*>|)
                      (?P<array>\[(?P<count>\d*)\]|)
                      (?:<=(?P<most>\d+)|)
                      (?P<unit>/.*|)''', re.VERBOSE | re.DOTALL)

COUNTER = re.compile(r'\{packed,counter;value:([^,\[]+)\}')


def enumeration(kind):
    """Returns the type of a class of enum: its members are the labels, of values or of bits."""
    flags = issubclass(kind, enum.Flag)
    members = {label: member._value_ for label, member in kind.__members__.items()}
    if not all(isinstance(value, int) for value in members.values()):
        raise TypeError(f'{kind.__qualname__} has a value that is no int')
    members = {label: int(value) for label, value in members.items()}
    lowest, highest = min(members.values(), default=0), max(members.values(), default=0)
    for bits in (8, 16, 32, 64):
        if lowest >= 0 and highest < 1 << bits:
            letter = 'x' if flags else 'u'
            break
        if not flags and -1 << bits - 1 <= lowest and highest < 1 << bits - 1:
            letter = 'i'
            break
    else:
        raise ValueError(f'{kind.__qualname__} has a value of more than 64 bits')
    if flags:
        members = {label: value for label, value in members.items() if value}
    labels = ('|' if flags and len(members) > 1 else ',').join(f'{label}={value}' for label, value in members.items())
    return f'{letter}{bits}<{labels}>' if labels else f'{letter}{bits}'


def labels_of(text):
    """Returns the labels in "<idle,busy=4>" as a dict of numbers. The library has found or finds what is wrong."""
    bits, value, labels = '|' in text, None, {}
    for label in text[1:-1].split('|' if bits else ','):
        name, _, number = label.partition('=')
        try:
            value = int(number, 0) if number else (1 if bits else 0) if value is None else \
                value * 2 if bits else value + 1
        except ValueError:
            return labels
        labels[name] = value
    return labels


def field(name, declared):
    """Returns the text in the layout, and (kind, size, many, most, scale, labels): see struct field."""
    if isinstance(declared, type) and issubclass(declared, enum.Enum):
        declared = enumeration(declared)
    elif not isinstance(declared, str):
        known = PYTHON.get(declared) if isinstance(declared, type) else None
        if known is None:
            raise TypeError(f'field {name}: {declared!r} is not a type: "u32" and the like, int, str, float, bool, '
                            f'bytes, or a class of enum')
        declared = known
    if declared in QUOTED:
        raise ValueError(f'field {name}: {declared!r} is not a type; {QUOTED[declared]}')
    match = TYPE.fullmatch(declared)
    if not match:
        return f'{name}:{declared}', None
    letter, bits, array, unit = match['type'], match['bits'], match['array'], match['unit']
    count = int(match['count']) if match['count'] else None
    most = int(match['most']) if match['most'] else None
    size, scale, labels = int(bits or 8) // 8, 0.0, labels_of(match['labels']) if match['labels'] else None
    if most is not None and not 1 <= most <= LARGEST:
        raise ValueError(f'field {name}: "<={most}" is not a maximum from 1 to {LARGEST}')
    if most is not None and (array and count is not None or not array and declared[0] not in 'zsb' or letter == 'bool'
                             and not array):
        raise ValueError(f'field {name}: only a text, bytes or an array "[]" has a maximum "<={most}"')
    if letter in ('z', 's'):
        kind, many, most = STRING if letter == 'z' else TEXT, ONE, most or TEXT_MOST
    elif letter in ('c', 'b'):
        kind, size = CHARS if letter == 'c' else BYTES, 1
        if letter == 'c' and not array:
            count = 1
        many = FIXED if count is not None else COUNTED if array else ONE
        if letter == 'c' and many == COUNTED:
            raise ValueError(f'field {name}: "c[]" has no size; a text of any length is "z"')
        most = count if count is not None else most or TEXT_MOST
    else:
        kind = BOOL if letter == 'bool' else KINDS.get(letter)
        many = ONE if not array else FIXED if count is not None else COUNTED
        most = 1 if not array else count if count is not None else most or ITEMS_MOST
        if kind == TIME:
            scale = float(UNITS.get(unit[1:], 1)) if unit or bits == '64' else 1.0
    text = f'{letter}{bits}{match["labels"]}'
    if many == COUNTED:
        text = f'n_{name}:u16,{name}:{text}[n_{name}]{unit}'
    else:
        text = f'{name}:{text}{array}{unit}'
    return text, (kind, size, many, most, scale, labels)


def compile_fields(fields, attributes):
    """Returns the layout of the fields, a dict of names and types, and a list of plans. No fields: None, [].

    The caller has the library check the layout, which may be wrong."""
    if not fields:
        return None, []
    texts, plans = zip(*(field(name, declared) for name, declared in fields.items()))
    return '{packed' + (attributes and ',' + attributes) + ';' + ','.join(texts) + '}', list(plans)


def inferred(values):
    """Returns a dict of types for a dict of values."""
    def of(value):
        for kind in (bool, int, float, bytes, bytearray):
            if isinstance(value, kind):
                return PYTHON[kind]
        return 'z'
    return {name: of(value) for name, value in values.items()}


def free_name(declared, name, ends):
    """Returns a name under which no other fields are declared: `name`, or NAME(FIELDS), or NAME(2) ...

    ends: for each event what is behind its name, its attributes and its fields."""
    layouts = {end: compile_fields(fields, attributes)[0] for end, attributes, fields in ends}
    layout = next(iter(layouts.values())) or ';}'
    tails = itertools.chain([f'({layout[layout.index(";") + 1:-1]})'], (f'({n})' for n in itertools.count(2)))

    def is_free(stem):
        return all(declared.get(stem + end, (layout,))[0] == layout for end, layout in layouts.items())

    stem = name
    while not is_free(stem):
        tail = next(tails)
        room = NAME_MOST - max(map(len, layouts)) - len(tail.encode())
        if room > 0:
            stem = name.encode()[:room].decode(errors='ignore') + tail
    return stem


def counter_fields(declared, name):
    """Returns the field of a counter: of the type that the program has declared for it, otherwise float."""
    layout = declared.get(name, [None])[0]
    match = layout and COUNTER.fullmatch(layout)
    return {'value': match[1] if match else 'f64'}


async def ready(value):
    """Is the value at once."""
    return value
