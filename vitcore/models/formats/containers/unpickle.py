"""A pickle read without running anything in it: tensors by where their values lie, plain containers, and stubs for all the rest.

Python's own `pickle._Unpickler` reads the opcodes. Each that would import, call or hash is replaced: nothing that the pickle
names is imported or called. What it would call is made here where it is a tensor (`TensorPlace`); settings that people save
beside weights (paths, dates, NumPy's scalars, OmegaConf) become an `ObjectStub`, and every other call is refused. Memory and time
stay in proportion to the file: keys that are costly to hash and containers that are copied without end have no place in weights.
Protocol: github.com/python/cpython/blob/main/Lib/pickle.py, torch's part: torch/_utils.py, torch/serialization.py.
"""

import pickle
import re
from collections.abc import Callable
from typing import IO, Any

import torch

from vitcore.models.formats.containers.pickle_objects import (
    GlobalName,
    ObjectStub,
    TensorPlace,
    TensorStorage,
    are_tensor_sizes,
    plain_array,
    plain_texts,
    stub_of_call,
)

HARMLESS_CALLS = re.compile(  # of these nothing is called, either: what they would make is an `ObjectStub`
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
WRAPPER = "torch._utils._rebuild_wrapper_subclass"
OTHER_TENSORS = re.compile(r"torch\.(_utils\._rebuild_\w+|_tensor\._rebuild_from_type_v2)")
PLAIN_KEYS = (str, int, float, bool, bytes, type(None))
MAX_KEY_BITS = 64
MAX_STEPS = 700_000  # a checkpoint with the state of its optimiser takes a hundred thousand


class NeedsCodeError(ValueError):
    """The pickle calls what is not called here; the message is its name."""


class _Opcodes(dict[int, Any]):
    """What reads each opcode; of no file more than `MAX_STEPS` are read."""

    left = MAX_STEPS

    def __getitem__(self, code: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ValueError("longer than any checkpoint")
        return super().__getitem__(code)


class _Unpickler(pickle._Unpickler):
    """The machine of the opcodes, which puts `GlobalName`, `ObjectStub`, `TensorStorage` and `TensorPlace` for objects."""

    stack: list[Any]
    metastack: list[list[Any]]  # of what lies below the marks
    append: Callable[[Any], None]
    pop_mark: Callable[[], list[Any]]

    def __init__(self, stream: IO[bytes], budget: int) -> None:
        super().__init__(stream, encoding="latin1")
        self.budget = budget  # of items that may be copied
        self.modules: list[str] = []  # classes of torch modules that were saved whole
        self.dispatch = _Opcodes(OPERATIONS)  # type: ignore[misc]

    def spend(self, items: int) -> None:
        self.budget -= items
        if self.budget < 0:
            raise ValueError("too many items")

    def find_class(self, module: str, name: str) -> GlobalName:
        return GlobalName(f"{module}.{name}"[:400])

    def persistent_load(self, given: Any) -> Any:
        """A storage: ("storage", type, key, device, number of values), in older files with a view of it."""
        if isinstance(given, tuple) and len(given) == 4 and given[0] == "module":  # a class with its source, before torch 1.6
            return given[1]
        if not isinstance(given, tuple) or len(given) < 5 or given[0] not in ("storage", b"storage"):
            raise ValueError("a reference to no storage")
        _, kind, key, _, count, *view = given
        if view and view[0] is not None:
            raise ValueError("a view of a storage")
        if not are_tensor_sizes((count,)) or not isinstance(key, str):
            raise ValueError("a storage of no size")
        return TensorStorage(key, _dtype(kind), count)

    def load_dict(self) -> None:
        items, made = self.pop_mark(), dict[Any, Any]()
        _set_items(made, items)
        self.append(made)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        _set_items(self.stack[-1], [key, value])

    def load_setitems(self) -> None:
        items = self.pop_mark()
        _set_items(self.stack[-1], items)

    def load_append(self) -> None:
        self.extend_list([self.stack.pop()])

    def load_appends(self) -> None:
        self.extend_list(self.pop_mark())

    def extend_list(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def load_bytearray8(self) -> None:  # the one of Python makes room for as many bytes as it is told
        READS[pickle.BINBYTES8[0]](self)
        self.append(bytearray(self.stack.pop()))

    def load_reduce(self) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        self.append(self.make(function, args))

    def _instantiate(self, kind: Any, args: list[Any]) -> None:
        self.append(self.make(kind, tuple(args)))

    def load_newobj(self) -> None:
        _, kind = self.stack.pop(), self.stack.pop()
        self.append(_stub(kind))

    def load_newobj_ex(self) -> None:
        self.stack.pop()
        self.load_newobj()

    def load_build(self) -> None:
        """Attributes of an object: kept where they are a dict, as of TorchScript's modules; an array's numbers."""
        state, stub = self.stack.pop(), self.stack[-1]
        if type(stub) is ObjectStub and isinstance(state, tuple):
            if stub.name.endswith("._reconstruct") and len(state) == 5:
                _, shape, kind, by_columns, data = state
                stub.array = plain_array(shape, kind, "F" if by_columns else "C", data)
                stub.names = plain_texts(shape, kind, data)
            elif stub.name == "numpy.dtype" and len(state) > 1 and state[1] in ("<", ">", "|", "="):
                stub.byte_order = state[1]
        if type(stub) is ObjectStub and isinstance(state, dict):
            self.spend(len(state))
            stub.attributes.update(state)
            self.modules += [stub.name] if "_parameters" in state else []

    def make(self, function: Any, args: Any) -> Any:
        """What a call would make. Raises: NeedsCodeError, for a call that is no tensor's and no harmless setting's."""
        if isinstance(function, GlobalName) and function.name.startswith("__torch__."):  # an enum of TorchScript's, by its name
            return ObjectStub(function.name)
        if not isinstance(function, GlobalName) or not isinstance(args, tuple):
            raise NeedsCodeError(str(getattr(function, "name", function))[:80])
        name = function.name
        if match := REBUILD.fullmatch(name):
            return _tensor(match[1], args)
        if name == "torch._tensor._rebuild_from_type_v2" and len(args) > 2:
            return (
                _of_subclass(*args[1:4])
                if len(args) > 3 and WRAPPER == getattr(args[0], "name", "")
                else self.make(args[0], args[2])
            )
        if OTHER_TENSORS.fullmatch(name):
            return TensorPlace(None, None, 0, (), (), next((kind for kind in ("sparse", "meta") if f"_{kind}_" in name), ""))
        if name in (ORDERED_DICT, "collections.defaultdict") and args and isinstance(args[0], list):
            self.spend(len(args[0]))
            made: dict[Any, Any] = {}
            _set_items(made, [part for pair in args[0] for part in pair[:2]])
            return made
        if name in (ORDERED_DICT, "collections.defaultdict", "builtins.dict", "__builtin__.dict"):
            return {}
        if name == "torch.Size":
            return args[0]
        if name.startswith("torch.jit._pickle.") and args:  # lists of numbers, and what has a type's name tied to it
            return args[0]
        if name.startswith(("copyreg.", "copy_reg.")) and args:
            return _stub(args[0])
        if name == "_codecs.encode" and len(args) == 2 and isinstance(args[0], str) and args[1] == "latin1":  # bytes, of protocol 2
            self.spend(len(args[0]))
            return args[0].encode("latin1")
        if HARMLESS_CALLS.fullmatch(name):
            return stub_of_call(name, args)
        whole = next((held[0] for held in (*self.metastack, self.stack) if held), None)  # of an object saved whole its own name
        raise NeedsCodeError(whole.name if isinstance(whole, ObjectStub) else name)


READS: dict[int, Any] = pickle._Unpickler.dispatch
OPERATIONS: dict[int, Any] = {
    code: getattr(_Unpickler, read.__name__) for code, read in READS.items()
    if code not in pickle.EXT1 + pickle.EXT2 + pickle.EXT4 + pickle.NEXT_BUFFER + pickle.READONLY_BUFFER
} | {  # sets are lists: of a nested key it may take years to compute the hash
    pickle.EMPTY_SET[0]: READS[pickle.EMPTY_LIST[0]], pickle.FROZENSET[0]: READS[pickle.LIST[0]],
    pickle.ADDITEMS[0]: _Unpickler.load_appends, pickle.BYTEARRAY8[0]: _Unpickler.load_bytearray8,
}  # fmt: skip


def read_pickle(stream: IO[bytes], max_items: int) -> tuple[Any, list[str]]:
    """The object of the pickle that begins where the stream is, and the classes of modules in it; the stream is left behind it.

    max_items: how many items of containers may be copied, in proportion to the file.
    Raises: NeedsCodeError; ValueError, IndexError and others of a damaged pickle.
    """
    machine = _Unpickler(stream, max_items)
    return machine.load(), machine.modules


def _set_items(to: Any, items: list[Any]) -> None:
    if isinstance(to, dict):
        for key, value in zip(items[::2], items[1::2], strict=True):
            to[key if _is_plain(key) else object()] = value  # a nested key may take years to hash


def _is_plain(key: Any) -> bool:
    if isinstance(key, tuple):
        return len(key) < 8 and all(isinstance(part, PLAIN_KEYS) for part in key)
    return isinstance(key, PLAIN_KEYS) and not (isinstance(key, int) and key.bit_length() > MAX_KEY_BITS)


def _stub(kind: Any) -> Any:
    if isinstance(kind, GlobalName):
        return {} if kind.name in (ORDERED_DICT, "builtins.dict") else ObjectStub(kind.name)
    if isinstance(kind, ObjectStub):
        return ObjectStub(kind.name)
    raise ValueError("an object of no class")


def _tensor(kind: str, args: tuple[Any, ...]) -> TensorPlace:
    if kind.startswith("parameter"):
        if not isinstance(args[0], TensorPlace):
            raise ValueError("a parameter of no tensor")
        return args[0]
    storage, offset, shape, strides = args[:4]
    if kind == "qtensor" or not isinstance(storage, TensorStorage):
        return TensorPlace(None, None, 0, shape if are_tensor_sizes(shape) else (), (), "torch" if kind == "qtensor" else "")
    dtype = storage.dtype
    if kind == "tensor_v3":
        dtype = _dtype(args[6])
    if not (are_tensor_sizes(shape) and are_tensor_sizes(strides) and len(shape) == len(strides) and are_tensor_sizes((offset,))):
        raise ValueError("a tensor of no shape")
    return TensorPlace(storage, dtype, offset, shape, strides)


def _of_subclass(kind: Any, args: Any, state: Any) -> TensorPlace:
    """A tensor of a class that wraps others: torch's of many processes (DTensor) is whole where this one's part has its shape."""
    parts = state if isinstance(state, tuple) else (state,)  # attributes, and those in slots
    local = next((part["_local_tensor"] for part in parts if isinstance(part, dict) and "_local_tensor" in part), None)
    if isinstance(local, TensorPlace) and isinstance(args, tuple) and len(args) > 2 and local.shape == args[2]:
        return local
    name = str(getattr(kind, "name", ""))
    return TensorPlace(None, None, 0, (), (), "distributed" if local is not None else name.partition(".")[0])


def _dtype(named: Any) -> torch.dtype | None:
    """torch's type by the name that a pickle has for it: `torch.float32`, `torch.FloatStorage`; None for bytes of any."""
    name = named.name.rpartition(".")[2] if isinstance(named, GlobalName) else ""
    plain = {"FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
             "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
             "BoolStorage": "bool", "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128"}  # fmt: skip
    found = getattr(torch, plain.get(name, name), None)
    return found if isinstance(found, torch.dtype) else None
