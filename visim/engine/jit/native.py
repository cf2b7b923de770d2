"""The only module that knows llvmlite: from the text of a module to addresses of functions."""

from __future__ import annotations

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
_FUNCTIONS = ("run_threads", "run_groups", "turn", "turns")


class NativeCode:
    """Machine code in memory; it lives as long as this object.

    `addresses` are those of the entry functions that the module has, by name.
    """

    def __init__(self, text: str) -> None:
        with _LOCK:
            binding, machine = _llvm()
            cache = ObjectCache(default_folder())
            key = key_of(text, _host(binding), llvmlite_version(), *_PASSES)
            code = cache.get(key)
            if code is None:
                code = _compiled(binding, machine, text)
                cache.put(key, code)
            self._engine = binding.create_mcjit_compiler(
                binding.parse_assembly(""), _machine(binding)
            )
            self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            found = {name: int(self._engine.get_function_address(name)) for name in _FUNCTIONS}
            self.addresses = {name: address for name, address in found.items() if address}


@cache
def _llvm() -> tuple[Any, Any]:
    try:
        from llvmlite import binding
    except ImportError:
        message = "the engine 'jit' needs the package llvmlite; install it: pip install llvmlite"
        raise ToolMissing(message) from None
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    return binding, _machine(binding)


@cache
def has_mask_registers() -> bool:
    """Whether the processor keeps masks of vectors in registers of their own (AVX-512)."""
    binding, _ = _llvm()
    return bool(binding.get_host_cpu_features().get("avx512vl"))


def llvmlite_version() -> str:
    """Return the versions of llvmlite and of the LLVM in it."""
    import llvmlite
    from llvmlite import binding

    return f"{llvmlite.__version__} {binding.llvm_version_info}"


def _host(binding: Any) -> str:
    """Return what code for this processor depends on."""
    return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"


def _compiled(binding: Any, machine: Any, text: str) -> bytes:
    """Return the object file of a module."""
    module = binding.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    _optimize(binding, machine, module)
    return bytes(machine.emit_object(module))


def _machine(binding: Any) -> Any:
    target = binding.Target.from_default_triple()
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=2,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


def _optimize(binding: Any, machine: Any, module: Any) -> None:
    """Run the passes that matter here: most of LLVM's list finds nothing to do."""
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_module_pass_manager()
    for name in _PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)
