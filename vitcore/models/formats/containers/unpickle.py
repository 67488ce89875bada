"""A pickle read without running anything in it: tensors by where their values lie, plain containers, and stubs for all the rest.

`pickletools` decodes the opcodes; nothing is imported, and nothing that the pickle names is called. What it would call is made
here where it is a tensor (`TensorPlace`); settings that people save beside weights (paths, dates, NumPy's scalars, OmegaConf)
become a `Stub`, and every other call is refused. Memory and time stay in proportion to the file: keys that are costly to
hash and containers that are copied without end have no place in weights.
Protocol: github.com/python/cpython/blob/main/Lib/pickletools.py, torch's part: torch/_utils.py, torch/serialization.py.
"""

import pickletools
import re
from collections.abc import Callable
from typing import IO, Any

import torch

from vitcore.models.formats.containers.pickle_objects import (
    Global,
    Storage,
    Stub,
    TensorPlace,
    are_sizes,
    plain_array,
    stub_of_call,
)

HARMLESS_CALLS = re.compile(  # of these nothing is called, either: what they would make is a `Stub`
    r"numpy\.(_?core\.)?(multiarray|numeric)\.(scalar|_reconstruct|_frombuffer)|numpy\.(dtype|ndarray)|numpy\.dtypes\.\w+"
    r"|numpy\.random\._pickle\.\w+|numpy\.(bool|str|bytes|u?int|float|complex)\w*"
    r"|pathlib\.(_local\.)?(Pure)?(Posix|Windows)?Path|datetime\.(datetime|date|time|timedelta|timezone)"
    r"|zoneinfo\.ZoneInfo(\._unpickle)?|decimal\.Decimal|fractions\.Fraction|uuid\.\w*UUID|argparse\.Namespace"
    r"|omegaconf(\.\w+)*\.[A-Z]\w*|collections\.(Counter|deque|ChainMap|User\w+)|functools\.partial|types\.SimpleNamespace"
    r"|_codecs\.encode|torch\.(device|Generator|serialization\._get_layout)"
    r"|(builtins|__builtin__)\.(set|frozenset|list|tuple|slice|complex|x?range|bytearray|object|int|float|str|bytes)"
)
ORDERED_DICT = "collections.OrderedDict"
REBUILD = re.compile(r"torch\._utils\._rebuild_(tensor|tensor_v2|tensor_v3|parameter|parameter_with_state|qtensor)")
OTHER_TENSORS = re.compile(r"torch\.(_utils\._rebuild_\w+|_tensor\._rebuild_from_type_v2)")
PLAIN_KEYS = (str, int, float, bool, bytes, type(None))
MAX_KEY_BITS = 64
MAX_STEPS = 700_000  # a checkpoint with the state of its optimiser takes a hundred thousand


class NeedsCodeError(ValueError):
    """The pickle calls what is not called here; the message is its name."""


class _Unpickler:
    """The machine of the opcodes: a stack, marks and a memo."""

    def __init__(self, budget: int) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.budget = budget  # of items that may be copied
        self.modules: list[str] = []  # classes of torch modules that were saved whole

    def spend(self, items: int) -> None:
        self.budget -= items
        if self.budget < 0:
            raise ValueError("too many items")

    def pop_mark(self) -> list[Any]:
        at = self.marks.pop()
        items = self.stack[at:]
        del self.stack[at:]
        return items


def read_pickle(stream: IO[bytes], most_items: int) -> tuple[Any, list[str]]:
    """The object of the pickle that begins where the stream is, and the classes of modules in it; the stream is left behind it.

    most_items: how many items of containers may be copied, in proportion to the file.
    Raises: NeedsCodeError; ValueError, IndexError and others of a damaged pickle.
    """
    machine = _Unpickler(most_items)
    for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
        if count > MAX_STEPS:
            raise ValueError("longer than any checkpoint")
        if opcode.name == "STOP":
            return machine.stack.pop(), machine.modules
        _do(machine, opcode.name, argument)
    raise ValueError("no end")


def _do(m: _Unpickler, name: str, argument: Any) -> None:
    if name in CONSTANTS:
        m.stack.append(CONSTANTS[name]())
    elif name in OPERATIONS:
        OPERATIONS[name](m, argument)
    elif name in LITERALS:
        m.stack.append(argument)
    elif name not in ("PROTO", "FRAME"):
        raise NeedsCodeError(name)


CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_LIST": list, "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple, "EMPTY_SET": list,
}  # fmt: skip
LITERALS = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES",
    "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "FLOAT", "BINFLOAT",
}  # fmt: skip


def _pop(m: _Unpickler, _: Any) -> None:
    if m.marks and m.marks[-1] == len(m.stack):
        m.marks.pop()
    else:
        m.stack.pop()


def _tuple(count: int) -> Callable[[_Unpickler, Any], None]:
    def make(m: _Unpickler, _: Any) -> None:
        items = tuple(m.stack[-count:])
        if len(items) < count:
            raise IndexError("stack")
        del m.stack[-count:]
        m.stack.append(items)

    return make


def _replace_mark(made: Callable[[list[Any]], Any]) -> Callable[[_Unpickler, Any], None]:
    def make(m: _Unpickler, _: Any) -> None:
        items = m.pop_mark()
        m.stack.append(made(items))

    return make


def _dict(items: list[Any]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    _set_items(made, items)
    return made


def _set_items(to: Any, items: list[Any]) -> None:
    if isinstance(to, dict):
        for key, value in zip(items[::2], items[1::2], strict=True):
            to[key if _is_plain(key) else object()] = value  # a nested key may take years to hash


def _is_plain(key: Any) -> bool:
    if isinstance(key, tuple):
        return len(key) < 8 and all(isinstance(part, PLAIN_KEYS) for part in key)
    return isinstance(key, PLAIN_KEYS) and not (isinstance(key, int) and key.bit_length() > MAX_KEY_BITS)


def _append(to: Any, items: list[Any]) -> None:
    if isinstance(to, list):
        to.extend(items)


def _set_item(m: _Unpickler, _: Any) -> None:
    value, key = m.stack.pop(), m.stack.pop()
    _set_items(m.stack[-1], [key, value])


def _set_marked_items(m: _Unpickler, _: Any) -> None:
    items = m.pop_mark()
    _set_items(m.stack[-1], items)


def _append_one(m: _Unpickler, _: Any) -> None:
    item = m.stack.pop()
    _append(m.stack[-1], [item])


def _append_marked(m: _Unpickler, _: Any) -> None:
    items = m.pop_mark()
    _append(m.stack[-1], items)


def _global(m: _Unpickler, argument: Any) -> None:
    m.stack.append(Global(argument.replace(" ", ".", 1)))


def _stack_global(m: _Unpickler, _: Any) -> None:
    name, module = m.stack.pop(), m.stack.pop()
    m.stack.append(Global(f"{module}.{name}"[:400]))


def _reduce(m: _Unpickler, _: Any) -> None:
    args, function = m.stack.pop(), m.stack.pop()
    m.stack.append(_made(m, function, args))


def _new_object(m: _Unpickler, _: Any) -> None:
    _, kind = m.stack.pop(), m.stack.pop()
    m.stack.append(_stub(kind))


def _new_object_ex(m: _Unpickler, _: Any) -> None:
    m.stack.pop()
    _new_object(m, None)


def _object(m: _Unpickler, _: Any) -> None:
    kind, *args = m.pop_mark()
    m.stack.append(_made(m, kind, tuple(args)))


def _instance(m: _Unpickler, argument: Any) -> None:
    m.stack.append(_made(m, Global(argument.replace(" ", ".", 1)), tuple(m.pop_mark())))


def _stub(kind: Any) -> Any:
    if isinstance(kind, Global):
        return {} if kind.name in (ORDERED_DICT, "builtins.dict") else Stub(kind.name)
    if isinstance(kind, Stub):
        return Stub(kind.name)
    raise ValueError("an object of no class")


def _build(m: _Unpickler, _: Any) -> None:
    """Attributes of an object: kept where they are a dict, for TorchScript's modules hold their tensors so; an array's numbers."""
    state = m.stack.pop()
    if type(m.stack[-1]) is Stub and isinstance(state, tuple):
        stub = m.stack[-1]
        if stub.name.endswith("._reconstruct") and len(state) == 5:
            _, shape, kind, by_columns, data = state
            stub.array = plain_array(shape, kind, "F" if by_columns else "C", data)
        elif stub.name == "numpy.dtype" and len(state) > 1 and state[1] in ("<", ">", "|", "="):
            stub.byte_order = state[1]
    if type(m.stack[-1]) is Stub and isinstance(state, dict):
        m.spend(len(state))
        m.stack[-1].attributes.update(state)
        m.modules += [m.stack[-1].name] if "_parameters" in state else []


def _made(m: _Unpickler, function: Any, args: Any) -> Any:
    """What a call would make. Raises: NeedsCodeError, for a call that is no tensor's and no harmless setting's."""
    if isinstance(function, Global) and function.name.startswith("__torch__."):  # an enum of TorchScript's, by its name
        return Stub(function.name)
    if not isinstance(function, Global) or not isinstance(args, tuple):
        raise NeedsCodeError(str(getattr(function, "name", function))[:80])
    name = function.name
    if match := REBUILD.fullmatch(name):
        return _tensor(match[1], args)
    if name == "torch._tensor._rebuild_from_type_v2" and len(args) > 2:
        return _made(m, args[0], args[2])
    if OTHER_TENSORS.fullmatch(name):
        return TensorPlace(None, None, 0, (), ())
    if name in (ORDERED_DICT, "collections.defaultdict") and args and isinstance(args[0], list):
        m.spend(len(args[0]))
        return _dict([part for pair in args[0] for part in pair[:2]])
    if name in (ORDERED_DICT, "collections.defaultdict", "builtins.dict", "__builtin__.dict"):
        return {}
    if name == "torch.Size":
        return args[0]
    if name.startswith("torch.jit._pickle.") and args:  # lists of numbers, and what has a type's name tied to it
        return args[0]
    if name.startswith(("copyreg.", "copy_reg.")) and args:
        return _stub(args[0])
    if name == "_codecs.encode" and len(args) == 2 and isinstance(args[0], str) and args[1] == "latin1":  # bytes, of protocol 2
        m.spend(len(args[0]))
        return args[0].encode("latin1")
    if HARMLESS_CALLS.fullmatch(name):
        return stub_of_call(name, args)
    whole = m.stack[0] if m.stack else None  # an object saved whole has many parts: it is named, not one of them
    raise NeedsCodeError(whole.name if isinstance(whole, Stub) else name)


def _tensor(kind: str, args: tuple[Any, ...]) -> TensorPlace:
    if kind.startswith("parameter"):
        if not isinstance(args[0], TensorPlace):
            raise ValueError("a parameter of no tensor")
        return args[0]
    storage, offset, shape, strides = args[:4]
    if kind == "qtensor" or not isinstance(storage, Storage):
        return TensorPlace(None, None, 0, shape if are_sizes(shape) else (), ())
    dtype = storage.dtype
    if kind == "tensor_v3":
        dtype = _dtype(args[6])
    if not (are_sizes(shape) and are_sizes(strides) and len(shape) == len(strides) and are_sizes((offset,))):
        raise ValueError("a tensor of no shape")
    return TensorPlace(storage, dtype, offset, shape, strides)


def _dtype(named: Any) -> torch.dtype | None:
    """torch's type by the name that a pickle has for it: `torch.float32`, `torch.FloatStorage`; None for bytes of any."""
    name = named.name.rpartition(".")[2] if isinstance(named, Global) else ""
    plain = {"FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
             "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
             "BoolStorage": "bool", "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128"}  # fmt: skip
    found = getattr(torch, plain.get(name, name), None)
    return found if isinstance(found, torch.dtype) else None


def _persistent(m: _Unpickler, _: Any) -> None:
    """A storage: ("storage", type, key, device, number of values), in older files with a view of it."""
    given = m.stack.pop()
    if isinstance(given, tuple) and len(given) == 4 and given[0] == "module":  # a class with its source, before torch 1.6
        m.stack.append(given[1])
        return
    if not isinstance(given, tuple) or len(given) < 5 or given[0] not in ("storage", b"storage"):
        raise ValueError("a reference to no storage")
    _, kind, key, _, count, *view = given
    if view and view[0] is not None:
        raise ValueError("a view of a storage")
    if not are_sizes((count,)) or not isinstance(key, str):
        raise ValueError("a storage of no size")
    m.stack.append(Storage(key, _dtype(kind), count))


def _get(m: _Unpickler, argument: Any) -> None:
    m.stack.append(m.memo[int(argument)])


def _put(m: _Unpickler, argument: Any) -> None:
    m.memo[int(argument)] = m.stack[-1]


def _memoize(m: _Unpickler, _: Any) -> None:
    m.memo[len(m.memo)] = m.stack[-1]


OPERATIONS: dict[str, Callable[[_Unpickler, Any], Any]] = {
    "MARK": lambda m, _: m.marks.append(len(m.stack)), "POP": _pop, "POP_MARK": lambda m, _: m.pop_mark(),
    "DUP": lambda m, _: m.stack.append(m.stack[-1]), "TUPLE": _replace_mark(tuple), "TUPLE1": _tuple(1), "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3), "LIST": _replace_mark(list), "FROZENSET": _replace_mark(list), "DICT": _replace_mark(_dict),
    "SETITEM": _set_item, "SETITEMS": _set_marked_items, "APPEND": _append_one, "APPENDS": _append_marked,
    "ADDITEMS": _append_marked, "GLOBAL": _global, "STACK_GLOBAL": _stack_global, "REDUCE": _reduce, "NEWOBJ": _new_object,
    "NEWOBJ_EX": _new_object_ex, "OBJ": _object, "INST": _instance, "BUILD": _build, "BINPERSID": _persistent, "GET": _get,
    "BINGET": _get, "LONG_BINGET": _get, "PUT": _put, "BINPUT": _put, "LONG_BINPUT": _put, "MEMOIZE": _memoize,
}  # fmt: skip
