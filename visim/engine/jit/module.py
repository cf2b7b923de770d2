"""One LLVM module: the functions of a kernel's units, the helpers they need, the thread loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from visim.engine.jit.affine import InputShape, Row
from visim.engine.jit.blocks import UnitCode, is_indirect, places
from visim.engine.jit.floats import Library
from visim.engine.jit.flow import Explorer, Flow
from visim.engine.jit.inputs import input_rows
from visim.engine.jit.messages import Sites
from visim.engine.jit.scheduler import scheduler_text
from visim.engine.jit.storage import fits_variable
from visim.engine.jit.unit import UnitWriter, function_name
from visim.errors import UnsupportedError
from visim.linker.program import LinkedKernel, LinkedUnit


@dataclass(frozen=True, slots=True)
class Version:
    """What a compiled kernel is made for.

    `full` says that threads start with all channels, `budgeted` that they may execute only so
    many instructions, `counting` that executions of blocks are counted; `saving` that registers
    are written back to the image at the end; `inputs` are shapes that inputs have, `checked` that
    messages look whether they are in range.
    """

    full: bool
    slm_bytes: int
    budgeted: bool = False
    counting: bool = False
    saving: bool = False
    cr0: int = 0
    inputs: tuple[InputShape, ...] = ()
    checked: bool = True


@dataclass
class ModuleText:
    """The text of a module and what Python needs to run it.

    `forms` are, for each counter, the forms that one execution of its block counts.
    """

    text: str
    sites: Sites
    forms: list[tuple[str, ...]]
    uses_stacks: bool
    has_barriers: bool
    has_recursion: bool
    writes_image: bool
    rows: tuple[Row, ...]


@dataclass
class ModuleWriter:
    """Writes the module of one version of a kernel."""

    kernel: LinkedKernel
    version: Version
    library: Library = field(default_factory=Library)
    sites: Sites = field(default_factory=Sites)
    forms: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    flat: bool = False
    has_calls: bool = False
    has_barriers: bool = False

    def write(self) -> ModuleText:
        """Return the module.

        Raises:
            UnsupportedError: the kernel needs what the JIT cannot do.
        """
        codes = [UnitCode(self.kernel, unit) for unit in self.kernel.units]
        flows = self._flows(codes)
        self.flat = any(self._needs_image(flow) for flow in flows.values())
        self.has_calls = len(flows) > 1
        self.has_barriers = any(
            instruction.op.mnemonic == "barrier"
            for unit in self.kernel.units
            for instruction in unit.body
        )
        self.library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        functions = [UnitWriter(self, flow).write() for flow in flows.values()]
        stacks = self.has_barriers or self.has_calls
        text = "\n".join(
            [
                _HEAD,
                *functions,
                scheduler_text(function_name(0, self.version.cr0), stacks=stacks),
                self.library.render(),
                "attributes #0 = { nounwind }",
                '!0 = !{!"branch_weights", i32 1, i32 10000}',
                '!1 = !{!"branch_weights", i32 10000, i32 1}',
            ]
        )
        return ModuleText(
            text,
            self.sites,
            self.forms,
            stacks,
            self.has_barriers,
            self.has_calls,
            self.flat or self.has_calls or self.version.saving,
            () if self.flat else input_rows(self.kernel, flows[0, self.version.cr0]),
        )

    def _flows(self, codes: list[UnitCode]) -> dict[tuple[int, int], Flow]:
        """Explore the kernel and all functions that it reaches, each with its entry mode."""
        found: dict[tuple[int, int], Flow] = {}
        waiting = [(0, self.version.cr0)]
        while waiting:
            number, cr0 = waiting.pop()
            if (number, cr0) in found:
                continue
            flow = found[number, cr0] = Explorer(codes[number], cr0).explore()
            for name, mode in sorted(flow.callees, key=str):
                waiting += [(unit.number, mode) for unit in self.callees(name)]
            exits = flow.exits.get(0, set())
            if number and exits - {cr0}:
                raise UnsupportedError("jit: a function that leaves another %cr0 than it found")
        return found

    def callees(self, name: str | None) -> list[LinkedUnit]:
        """Return the functions that a call by name, or by handle, can reach."""
        if name is None:
            return list(self.kernel.units[1:])
        return [self.kernel.function(name)]

    def _needs_image(self, flow: Flow) -> bool:
        """Whether registers of a unit are addressed, or variables are overrun."""
        grf = self.kernel.platform.grf_bytes
        seen: set[int] = set()
        for node in flow.nodes.values():
            if id(node.block) in seen:
                continue
            seen.add(id(node.block))
            for step in node.block.steps:
                effects = list(step.effects)
                if is_indirect(effects):
                    return True
                if not all(fits_variable(place, grf) for place in places(effects)):
                    return True
            if node.block.transfer is not None:
                effects = [node.block.transfer]
                if is_indirect(effects) or not all(
                    fits_variable(place, grf) for place in places(effects)
                ):
                    return True
        return False

    def counter(self, forms: tuple[str, ...]) -> int:
        """Return a new counter for a block with these forms."""
        self.forms.append(forms)
        return len(self.forms) - 1


_HEAD = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
