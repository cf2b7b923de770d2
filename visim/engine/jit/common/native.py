"""The only module that knows llvmlite: from the text of a module to addresses of functions."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

from visim.engine.jit.common.fencing import has_fences
from visim.engine.jit.common.narrowing import kept_whole
from visim.engine.jit.common.probing import PROBE_TEXT, features_in
from visim.engine.jit.common.repeating import kept_apart
from visim.engine.jit.common.tiers import Tier
from visim.engine.jit.targets import HERE
from visim.errors import ArgumentError, ToolMissing
from visim.forks import LLVM_LOCK, loading

_OPTIONS = (
    *("-instcombine-code-sinking=false", "-disable-machine-sink"),
    "-grow-region-complexity-budget=1000",
    *("-cgpp-huge-func=1000", "-cgp-optimize-phi-types=false"),
)
"""Arithmetic stays where it is: moved behind later loads, it would keep more of them in memory.

LLVM splits a value's range at the edges of up to 10,000 blocks, one after the other: where joins
have hundreds of values, three quarters of its time. A tenth of that is enough for any loop here.

Its preparations for making code begin again with the first block whenever they have changed what
jumps where, but for functions that it takes for huge, here those of 1000 blocks; and then they look
at all joined values for floats that go through joins as integers, again and again, for nothing.
Neither changes an object of the benchmarks."""
_HOISTING = "-disable-machine-licm"
_MOST_BRANCHES = 2000
"""In longer modules constants are not moved in front of loops: where a loop has thousands of
blocks, each would need a register, or memory, in all of them, and LLVM twice the time or more."""
_REDUCING = "-disable-lsr"
_MOST_LOOPS = 32
"""With more loops addresses are not made induction variables: what a loop counts on from is for
LLVM what all loops in front of it have counted, and each looks at all of that several times."""
_AGAIN = "call i32 @pause("
"""What stands in front of each jump back."""
_LONG_STACK_BYTES = 1 << 29
"""What LLVM finds out by following values goes as deep as chains of branches are long, with some
two kilobytes for each; that is memory only where it is touched."""
_GATHERING = {
    *("alderlake", "raptorlake", "meteorlake", "arrowlake", "arrowlake-s", "lunarlake"),
    *("pantherlake", "wildcatlake", "novalake", "sapphirerapids", "emeraldrapids"),
    *("graniterapids", "graniterapids-d", "diamondrapids"),
}
"""Processors whose gathers do not go through microcode. Intel's of before have slow ones where
they are mended against data sampling; AMD's Zen 3 and 4 load one by one faster (measured).

Virtual machines may hide which one they run on: LLVM calls a Xeon of the sixth generation
"rocketlake" where its number is masked. Those of Intel's that have AVX512-FP16 are Sapphire Rapids
or later."""
_AMD = "znver"
_FINDING = {"znver4", "znver5"}
"""Processors that find by themselves what follows a row that is the only one of its array, in which
threads have work-items one behind the other (measured on Zen 4)."""
_UNSAVED = {"egpr"}
"""Features with registers that LLVM believes to last while a thread leaves its stack (`switching`):
it does not let assembly name the 16 general registers of APX, as ones that are lost either."""
_COMPILER_LIBRARY = "libgcc_s.so.1"
_PROBE = """
import sys
from llvmlite import binding

binding.initialize_native_target()
binding.initialize_native_asmprinter()
machine = binding.Target.from_default_triple().create_target_machine(cpu=sys.argv[1])
machine.emit_assembly(binding.parse_assembly("define void @f() {\\n  ret void\\n}"))
"""
_OFFERED: dict[str, int] = {}
_NUMBERS = count()
"""The linker wants another name for each object."""


class NativeCode:
    """Machine code in memory; it lives as long as this object.

    Args:
        code: an object file for this host.
        names: its functions.

    `addresses` are those of the functions that it has, by name.
    """

    def __init__(self, code: bytes, names: Sequence[str]) -> None:
        with LLVM_LOCK:
            library = _llvm().JITLibraryBuilder().add_object_img(code).add_current_process()
            for name, address in _OFFERED.items():
                library.import_symbol(name, address)
            for name in names:
                library.export_symbol(name)
            self._library = library.link(_linker(), f"code {next(_NUMBERS)}")
            self.addresses = {name: int(self._library[name]) for name in names}


def object_code(text: str, made_for: Processor, tier: Tier = Tier.USUAL) -> bytes:
    """Return the object file of a module for a processor of this host's kind."""
    with LLVM_LOCK:
        return _compiled(_machine(made_for, tier), text, tier)


@cache
def _linker() -> Any:
    """Return what makes objects ready to run; it takes a fifth of the time that MCJIT needs."""
    return _llvm().create_lljit_compiler(use_jit_link=True)


def offer(addresses: Mapping[str, int]) -> None:
    """Let code that is loaded from now on call functions by their names."""
    _OFFERED.update(addresses)


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor that code is made for: LLVM's name of it, and its features besides."""

    name: str
    features: str = ""


def processor() -> Processor:
    """Return the processor of this host, or the one that VISIM_CPU names.

    The name is LLVM's, such as x86-64-v3; code for more than the host has ends the process.

    Raises:
        ArgumentError: LLVM knows no processor of that name.
    """
    chosen = os.environ.get("VISIM_CPU")
    return _named_processor(chosen) if chosen else _host_processor()


@cache
def _named_processor(name: str) -> Processor:
    _check_name(name)
    if not HERE.lists_features:
        return Processor(name)
    binding = _llvm()
    with LLVM_LOCK:
        machine = binding.Target.from_default_triple().create_target_machine(cpu=name)
        found = features_in(machine.emit_assembly(binding.parse_assembly(PROBE_TEXT)))
    return Processor(name, usable(dict.fromkeys([*found, *_UNSAVED], True)))


def _check_name(name: str) -> None:
    """Refuse a processor that LLVM does not know or make 64-bit code for: it ends this process.

    It says so to the standard error only, so another process asks.
    """
    if not sys.executable:
        return
    words = [sys.executable, "-c", _PROBE, name]
    asked = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if b"not a recognized processor" in asked.stderr:
        raise ArgumentError(
            f"VISIM_CPU: LLVM knows no processor {name!r}; expected one of its names, such as "
            "x86-64-v3, znver3 or sapphirerapids"
        )
    if b"64-bit code requested" in asked.stderr:
        raise ArgumentError(
            f"VISIM_CPU: processor {name!r} has no 64-bit code, which this host runs; expected one "
            "that has, such as x86-64"
        )


def any_processor() -> Processor:
    """Return the least processor of this host's kind."""
    return Processor(HERE.least)


@cache
def _host_processor() -> Processor:
    binding = _llvm()
    with LLVM_LOCK:
        return Processor(binding.get_host_cpu_name(), usable(binding.get_host_cpu_features()))


def usable(features: Mapping[str, bool]) -> str:
    """Return the features of a processor for LLVM, without those that code may not use."""
    signs = {name: "+" if has and name not in _UNSAVED else "-" for name, has in features.items()}
    return ",".join(signs[name] + name for name in sorted(signs))


def has_mask_registers() -> bool:
    """Whether the processor keeps masks of vectors in registers of their own (AVX-512)."""
    return _has_mask_registers(processor())


@cache
def _has_mask_registers(made_for: Processor) -> bool:
    return "+avx512vl" in made_for.features.split(",")


def has_gathers() -> bool:
    """Whether the processor is known to gather lanes faster than it loads them one by one."""
    return _has_gathers(processor())


@cache
def _has_gathers(made_for: Processor) -> bool:
    if made_for.name in _GATHERING:
        return True
    return "+avx512fp16" in made_for.features.split(",") and not made_for.name.startswith(_AMD)


def has_scatters() -> bool:
    """Whether the processor also scatters lanes faster than it stores them one by one."""
    return has_gathers() and has_mask_registers()


def finds_rows() -> bool:
    """Whether the processor is known to find what follows single rows without being asked."""
    return processor().name in _FINDING


def permuted_bytes() -> int:
    """Return of how many bytes the processor makes any permutation at once, or 0."""
    features = processor().features.split(",")
    if "+avx512vbmi" in features:
        return 64
    return 16 if "+ssse3" in features else 0


def fuses_products() -> bool:
    """Whether the processor rounds a product and a sum at once as fast as one of them."""
    return HERE.always_fuses or "+fma" in processor().features.split(",")


def has_byte_products() -> bool:
    """Whether the processor adds products of four bytes each at once (VNNI)."""
    return bool({"+avx512vnni", "+avxvnni"} & set(processor().features.split(",")))


def has_wide_products() -> bool:
    """Whether the processor multiplies lanes of 64 bits; else it has more to do than by dwords."""
    return "+avx512dq" in processor().features.split(",")


def vector_lanes() -> int:
    """Return how many channels of 32 bits a register of the processor holds."""
    if has_mask_registers():
        return 16
    return 8 if "+avx2" in processor().features.split(",") else 4


def _llvm() -> Any:
    """Return llvmlite, ready for use."""
    with LLVM_LOCK:
        return _prepared_llvm()


@cache
def _prepared_llvm() -> Any:
    try:
        with loading("LLVM", LLVM_LOCK):
            from llvmlite import binding
    except ImportError:
        message = "the engine 'jit' needs the package llvmlite; install it: pip install llvmlite"
        raise ToolMissing(message) from None
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    _load_conversions(binding)
    _keep_order(binding)
    return binding


def _keep_order(binding: Any) -> None:
    """Choose what holds for all code that LLVM makes in this process."""
    for option in _OPTIONS:
        binding.set_option("visim", option)


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
def _machine(made_for: Processor, tier: Tier) -> Any:
    """Return what describes the processor to LLVM's passes."""
    target = _llvm().Target.from_default_triple()
    return target.create_target_machine(
        cpu=made_for.name,
        features=made_for.features,
        opt=tier.level,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def compiler() -> str:
    """Return what compiles: the versions of llvmlite and of the LLVM in it, and the passes."""
    import llvmlite

    return (
        f"{llvmlite.__version__} {_llvm().llvm_version_info} "
        f"{[tier.value for tier in Tier]} {_OPTIONS} {_MOST_BRANCHES} {_MOST_LOOPS}"
    )


def assembly_for(text: str, triple: str) -> str:
    """Return the assembly of a module for another target, which is not run here."""
    binding = _llvm()
    with LLVM_LOCK:
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        machine = binding.Target.from_triple(triple).create_target_machine(opt=2)
        return str(machine.emit_assembly(_optimized(binding, machine, text, Tier.USUAL)))


def _compiled(machine: Any, text: str, tier: Tier) -> bytes:
    """Return the object file of a module."""
    binding = _llvm()
    is_long = text.count("\n  br ") > _MOST_BRANCHES
    _switch(binding, _HOISTING, off=is_long)
    _switch(binding, _REDUCING, off=text.count(_AGAIN) > _MOST_LOOPS)
    if is_long:
        return _on_long_stack(lambda: _object(binding, machine, text, tier))
    return _object(binding, machine, text, tier)


def _switch(binding: Any, option: str, *, off: bool) -> None:
    binding.set_option("visim", f"{option}={str(off).lower()}")


def _on_long_stack(work: Callable[[], bytes]) -> bytes:
    """Return what work returns that may need more of a stack than threads have.

    Where there is no memory for such a stack it has to do with what there is.
    """
    found: Future[bytes] = Future()

    def do_it() -> None:
        try:
            found.set_result(work())
        except BaseException as error:
            found.set_exception(error)

    before = threading.stack_size(_LONG_STACK_BYTES)
    try:
        worker = threading.Thread(target=do_it, name="visim LLVM")
        worker.start()
    except RuntimeError:
        return work()
    finally:
        threading.stack_size(before)
    interrupt: KeyboardInterrupt | None = None
    while worker.is_alive():
        try:
            worker.join()
        except KeyboardInterrupt as error:
            interrupt = error  # LLVM does one thing at a time, so it is let end
    if interrupt is not None:
        raise interrupt
    return found.result()


def _object(binding: Any, machine: Any, text: str, tier: Tier) -> bytes:
    return bytes(machine.emit_object(_optimized(binding, machine, text, tier)))


def _optimized(binding: Any, machine: Any, text: str, tier: Tier) -> Any:
    """Return a module for a target after LLVM's passes."""
    module = binding.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    _optimize(binding, machine, module, tier)
    if tier is Tier.USUAL and has_fences(text):
        found = str(module)
        fenced = kept_apart(kept_whole(found))
        if fenced is not found:
            module = binding.parse_assembly(fenced)
    return module


def _optimize(binding: Any, machine: Any, module: Any, tier: Tier) -> None:
    """Run the passes that matter here: most of LLVM's list finds nothing to do."""
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_module_pass_manager()
    for name in tier.passes:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)
