"""The only module that knows llvmlite: from the text of a module to addresses of functions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from visim.engine.jit.cache import ObjectCache, default_folder, key_of
from visim.errors import ToolMissing

_LOCK = Lock()
_PASSES = (
    "always_inliner",
    "sroa",
    "instruction_combine",
    "simplify_cfg",
    "aggressive_dce",
    "simplify_cfg",
)
_WITH_MASKS = "x86-64-v4"
_COMPILER_LIBRARY = "libgcc_s.so.1"
_ENTRIES = ("run_threads", "run_groups", "turn", "turns")


class NativeCode:
    """Machine code in memory; it lives as long as this object.

    `addresses` are those of the entry functions that the module has, by name.
    """

    def __init__(self, text: str, entries: Sequence[str] = _ENTRIES) -> None:
        with _LOCK:
            binding, made_for = _llvm(), processor()
            cache = ObjectCache(default_folder())
            host = (made_for.name, made_for.features)
            key = key_of(text, *host, llvmlite_version(), *_PASSES)
            code = cache.get(key)
            if code is None:
                code = _compiled(_machine(made_for), text)
                cache.put(key, code)
            self._engine = binding.create_mcjit_compiler(
                binding.parse_assembly(""), _new_machine(made_for)
            )
            self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            found = {name: int(self._engine.get_function_address(name)) for name in entries}
            self.addresses = {name: address for name, address in found.items() if address}


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor that code is made for: LLVM's name of it, and its features besides."""

    name: str
    features: str = ""


def processor() -> Processor:
    """Return the processor of this host, or the one that VISIM_CPU names.

    The name is LLVM's, such as x86-64-v3; code for more than the host has ends the process.
    """
    chosen = os.environ.get("VISIM_CPU")
    if chosen:
        return Processor(chosen)
    return _host_processor()


@cache
def _host_processor() -> Processor:
    binding = _llvm()
    return Processor(binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())


def has_mask_registers() -> bool:
    """Whether the processor keeps masks of vectors in registers of their own (AVX-512)."""
    made_for = processor()
    return made_for.name == _WITH_MASKS or "+avx512vl" in made_for.features.split(",")


@cache
def _llvm() -> Any:
    try:
        from llvmlite import binding
    except ImportError:
        message = "the engine 'jit' needs the package llvmlite; install it: pip install llvmlite"
        raise ToolMissing(message) from None
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    _load_conversions(binding)
    return binding


def _load_conversions(binding: Any) -> None:
    """Make known what converts HF on processors that do not: the library of the compilers."""
    try:
        binding.load_library_permanently(_COMPILER_LIBRARY)
    except RuntimeError:
        if "+f16c" not in binding.get_host_cpu_features().flatten().split(","):
            message = (
                "the engine 'jit' needs a processor with F16C or the library "
                f"{_COMPILER_LIBRARY}; install it, or use engine='interpreter'"
            )
            raise ToolMissing(message) from None


@cache
def _machine(made_for: Processor) -> Any:
    """Return what describes the processor to LLVM's passes."""
    return _new_machine(made_for)


def _new_machine(made_for: Processor) -> Any:
    target = _llvm().Target.from_default_triple()
    return target.create_target_machine(
        cpu=made_for.name,
        features=made_for.features,
        opt=2,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


def llvmlite_version() -> str:
    """Return the versions of llvmlite and of the LLVM in it."""
    import llvmlite

    return f"{llvmlite.__version__} {_llvm().llvm_version_info}"


def object_for(text: str, triple: str) -> bytes:
    """Return the object code of a module for another target, which is not run here."""
    binding = _llvm()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return _compiled(binding.Target.from_triple(triple).create_target_machine(opt=2), text)


def _compiled(machine: Any, text: str) -> bytes:
    """Return the object file of a module."""
    binding = _llvm()
    module = binding.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    _optimize(binding, machine, module)
    return bytes(machine.emit_object(module))


def _optimize(binding: Any, machine: Any, module: Any) -> None:
    """Run the passes that matter here: most of LLVM's list finds nothing to do."""
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_module_pass_manager()
    for name in _PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)
