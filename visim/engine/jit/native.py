"""The only module that knows llvmlite: from the text of a module to addresses of functions."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

from visim.errors import ToolMissing

_LOCK = Lock()
_FUNCTIONS = ("run_threads", "run_groups", "turn", "turns")


class NativeCode:
    """Machine code in memory; it lives as long as this object.

    `addresses` are those of the entry functions that the module has, by name.
    """

    def __init__(self, text: str) -> None:
        with _LOCK:
            binding, machine = _llvm()
            module = binding.parse_assembly(text)
            module.triple = machine.triple
            module.data_layout = str(machine.target_data)
            _optimize(binding, machine, module)
            self._engine = binding.create_mcjit_compiler(module, _machine(binding))
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
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_aggressive_dce_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
