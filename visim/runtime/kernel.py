"""Kernels as users hold them: what they take, launching them, facts about them ."""

from __future__ import annotations

import dataclasses
import html
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Literal, Unpack, overload

from visim.engine.base import Engine
from visim.engine.prefetches import has_prefetches
from visim.errors import InputError, UnsupportedError
from visim.forks import RenewedLock, RenewedProperty
from visim.lex import shortened
from visim.linker import LinkedKernel, dispatch_width
from visim.machine.bounds import Bounds
from visim.module import Unit
from visim.runtime.arguments import parameters as metadata_parameters
from visim.runtime.arguments.pointees import Pointees
from visim.runtime.arguments.uninitialised import Uninitialised, plain
from visim.runtime.arguments.values import Parameter, arrange
from visim.runtime.building.image_reads import check_images_are_read
from visim.runtime.building.loading import Contents, LoadedKernel
from visim.runtime.facts import kernels as facts
from visim.runtime.facts.debugging import DebugFacts, start_registers
from visim.runtime.facts.groups import Sharing, sharing
from visim.runtime.launching.choice import Weight, fastest_engine, weight_of
from visim.runtime.launching.deadlines import Deadline, preparing
from visim.runtime.launching.defaults import current_watch, with_watch
from visim.runtime.launching.forms import Form, Forms
from visim.runtime.launching.handles import LaunchHandle
from visim.runtime.launching.launch import (
    Launch,
    LaunchKeywords,
    LaunchOptions,
    LaunchSettings,
    make_engine,
)
from visim.runtime.launching.quickly import QuickLook
from visim.runtime.launching.report import Report
from visim.runtime.launching.running import ExecutablePool
from visim.runtime.launching.sanitizing import Sanitizing, reach_of, uninitialised
from visim.runtime.launching.unwritten import unwritten_notes
from visim.runtime.payload import abi, bare, geometry
from visim.runtime.payload.layout import PayloadLayout
from visim.runtime.payload.threads import LaunchPlan, Tables
from visim.sanitize.bounds.instrument import Reach
from visim.sanitize.images.texels import is_painted
from visim.sanitize.races.needless import written_memory
from visim.sanitize.races.suspicions import can_suspect
from visim.sanitize.watching import Wanted, needs_groups, watched_kernel
from visim.target import PLATFORMS, Platform
from visim.text import show_unit

Arguments = Sequence[object] | Mapping[str, object]

_MOST_LISTED = 12
"""So many arguments are in what `repr` says of a kernel."""


class Kernel:
    """A kernel of a program: what it takes, and launching it.

    `args` are its arguments in order, `simd_size` the channels of its threads.
    """

    def __init__(self, contents: Contents, kernel: LoadedKernel) -> None:
        self._contents = contents
        self._kernel = kernel
        self._executables: dict[tuple[str, bool, Wanted], ExecutablePool] = {}
        self._watched: dict[Wanted, LinkedKernel] = {}
        self._layouts: dict[Wanted, PayloadLayout | bare.BareLayout] = {}
        self._jit_refuses = False
        self._lock = RenewedLock()

    def __repr__(self) -> str:
        listed = ", ".join(f"{arg.type_name} {arg.name}" for arg in self.args[:_MOST_LISTED])
        more = ", ..." if len(self.args) > _MOST_LISTED else ""
        return f"<Kernel {shortened(self.name)}({shortened(listed)}{more})>"

    def _repr_html_(self) -> str:
        """Return the kernel as notebooks show it: its name, its channels and its arguments."""
        rows = "".join(
            f"<tr><td>{html.escape(arg.name)}</td><td>{arg.kind}</td>"
            f"<td><code>{html.escape(arg.type_name)}</code></td></tr>"
            for arg in self.args
        )
        head = f"<b>{html.escape(self.name)}</b>, SIMD{self.simd_size}"
        return f"{head}<table><tr><th>argument<th>kind<th>type</tr>{rows}</table>"

    def __copy__(self) -> Kernel:
        return deepcopy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        places = (i for i, one in enumerate(self._contents.kernels) if one is self._kernel)
        return _kernel_at, (self._contents, next(places))

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._kernel.unit.name

    @RenewedProperty
    def args(self) -> tuple[Parameter, ...]:
        """The kernel's arguments in order."""
        if self._kernel.metadata is not None:
            return metadata_parameters.parameters(self._kernel.metadata)
        grf = (self._contents.platform or PLATFORMS[-1]).grf_bytes
        return bare.parameters(self._kernel.unit, grf)

    @property
    def simd_size(self) -> int:
        """How many channels a thread of the kernel has."""
        if self._kernel.metadata is not None:
            return self._kernel.metadata.execution_env.simd_size
        stated = self._kernel.unit.simd_size
        return stated or dispatch_width(self._kernel.unit)

    @property
    def registers(self) -> int | None:
        """How many registers a thread of the kernel has, None where the program does not say."""
        if self._kernel.metadata is not None:
            return self._kernel.metadata.execution_env.grf_count
        stated = self._kernel.unit.attribute("NumGRF")
        return stated if isinstance(stated, int) and stated > 0 else None

    @property
    def source(self) -> str:
        """The kernel's canonical vISA text."""
        contents = self._contents
        return show_unit(self._kernel.unit, contents.isa_version, contents.variables)

    def source_file(self, name: str) -> str | None:
        """Return the text of a source file that the kernel was compiled from, if it is known.

        Args:
            name: the file as faults and findings name it.
        """
        return self._contents.texts.whole(name)

    def __call__(self, *args: object, **options: Unpack[LaunchSettings]) -> Report:
        """Launch the kernel with its arguments in order, and wait for its end.

        `kernel(x, y, 2.0, global_size=n)` is `kernel.launch([x, y, 2.0], global_size=n)`.
        """
        return self.launch(args, **options)

    @overload
    def launch(self, args: Arguments, **options: Unpack[LaunchSettings]) -> Report: ...
    @overload
    def launch(
        self, args: Arguments, *, wait: Literal[True], **options: Unpack[LaunchSettings]
    ) -> Report: ...
    @overload
    def launch(
        self, args: Arguments, *, wait: Literal[False], **options: Unpack[LaunchSettings]
    ) -> LaunchHandle: ...
    @overload
    def launch(
        self, args: Arguments, *, wait: bool, **options: Unpack[LaunchSettings]
    ) -> Report | LaunchHandle: ...
    def launch(self, args: Arguments, **options: Unpack[LaunchKeywords]) -> Report | LaunchHandle:
        """Launch the kernel and wait for its end.

        What it prints with printf goes to `sys.stdout` (or where `visim.printf_to` says) while it
        runs, and is in the report.

        Args:
            args: the arguments as a list in order or a dict by name.
            **options: all may be left out, except that kernels with metadata need a `global_size`.

                - The geometry, integers or 1 to 3 of them: for kernels with metadata
                  `global_size`, `local_size` and `global_offset`, in work-items; for bare ones
                  `thread_groups` and `group_size`, in hardware threads, or `thread_space` with
                  `dependency`, the name of a pattern or a list of vectors.
                - `surfaces` and `samplers`: dicts by index in their tables. Kernels can reach an
                  array in `surfaces` by its address, too, such as a pointer in memory.
                - `engine`: "interpreter" or "jit"; None takes the one that is expected to be done
                  first. `workers`: how many threads of the host run the JIT's code.
                - `seed`: what orders the threads of a group; 0 keeps them in order.
                - `budget`: how many instructions a hardware thread may execute.
                - `timeout`: seconds after which the launch, with its compiling, has to be done;
                  then it faults where it is, at the next backward branch or end of a group.
                - `checks`: "off" lets the JIT leave out range checks.
                - `bounds`: what an access out of the range of a surface does: "fault", which is
                  what kernels with metadata do, or "hardware", which is what bare ones do: reads
                  give 0, writes are dropped, and the report counts both. Flat memory always faults.
                - `collect`: "instructions", "fidelity" and "taint" are in the report only if they
                  are asked for. `require_exact`: refuse results that are not bit-exact.
                - `observers`: a list of `Observer` objects.
                - `sanitize`: "all", or one or several of "races", "uninit", "bounds",
                  "barriers" and "undefined": what they find is in the report's `findings`.
                  `sanitize_stop`: stop with a fault when the first error or warning is found.
                  `sanitize_errors`: kinds of findings that count as errors, also if they are
                  notes. `suppress`: the path of a file with findings that are known; the report
                  lacks these.
                - `wait`: False returns at once, while the launch runs.

        Returns:
            The `Report`; with `wait=False` a `LaunchHandle`.

        Raises:
            ArgumentError: an argument, a size or an option is wrong.
            UnsupportedError: the launch needs what this build of visim does not have.
            FaultError: the kernel stopped; `.fault` says where and why.
            InputError: the platform is not known.
        """
        return self._bound(args, options, at_once=True)()

    @overload
    def bind(self, args: Arguments, **options: Unpack[LaunchSettings]) -> Launch[Report]: ...
    @overload
    def bind(
        self, args: Arguments, *, wait: Literal[True], **options: Unpack[LaunchSettings]
    ) -> Launch[Report]: ...
    @overload
    def bind(
        self, args: Arguments, *, wait: Literal[False], **options: Unpack[LaunchSettings]
    ) -> Launch[LaunchHandle]: ...
    @overload
    def bind(
        self, args: Arguments, *, wait: bool, **options: Unpack[LaunchSettings]
    ) -> Launch[Any]: ...
    def bind(self, args: Arguments, **options: Unpack[LaunchKeywords]) -> Launch[Any]:
        """Check and prepare a launch once; what is returned launches at each call.

        A kernel that has not run yet is compiled in the background; the first call waits for its
        code. Takes and raises what `launch` does, except for the faults of the run.
        """
        launch = self._bound(args, options)
        launch.executables.expect(launch.plan, launch.run_options)
        return launch

    def sharing(self) -> Sharing:
        """Return which arguments are read and written, and why groups may depend on each other.

        Raises:
            InputError: the platform is not known.
            UnsupportedError: the kernel needs something that visim cannot give it.
        """
        return sharing(self._linked, self._reach)

    def make_ready(self) -> None:
        """Do now what the first launch does for all of them: link, and find what threads get.

        Raises:
            InputError: the platform is not known.
            LinkError: a function that it calls is not there.
            UnsupportedError: it needs what this build of visim does not have.
        """
        self._platform()
        _ = self._weight, self._reach, self._pointees, self._units, self._unwritten_notes
        for engine in ("interpreter", "jit"):
            self._pool(make_engine(engine), Wanted())

    def _bound(
        self, args: Arguments, options: LaunchKeywords, *, at_once: bool = False
    ) -> Launch[Any]:
        """Return a launch; one that begins at once has its time from now on."""
        began = time.perf_counter()
        watch = current_watch()
        if watch is not None:
            options = with_watch(options, watch)
        self._platform()
        values = arrange(args, self.args)
        form = self._forms.of(options)
        chosen = form.options
        undefined = uninitialised([*values, *(chosen.surfaces or {}).values()])
        given = [plain(value) for value in values] if undefined else values
        wanted = self._wanted(chosen, undefined)
        plan = self._planned(form, wanted)(given)
        deadline = Deadline.after(chosen.timeout) if at_once else None
        with preparing(deadline, self.name):
            if form.engine is None:
                engine, executables = self._fastest(plan, wanted)
            else:
                engine = form.engine.name
                executables = self._pool(form.engine, wanted, taint=chosen.tracks_taint)
        wanted = wanted.on(engine)
        sanitizing = None
        if wanted:
            sanitizing = Sanitizing(
                self._linked,
                self._watched_kernel(wanted),
                wanted,
                self._reach,
                undefined,
                self._contents.texts,
            )
        if sanitizing is not None:
            sanitizing.prepare(plan)
        quick = self._quick_look(sanitizing, plan, form, engine)
        compile_s = time.perf_counter() - began
        return Launch(
            *(self.name, self._linked.platform.name, engine, executables, plan),
            *(chosen, form.run_options, compile_s, self._units, self._contents.texts),
            self._unwritten_notes + self._pointees.notes(given),
            sanitizing,
            () if "uninit" in wanted.names else undefined,
            receive=None if watch is None else watch.receive,
            deadline=deadline,
            quick=quick,
        )

    def _quick_look(
        self, sanitizing: Sanitizing | None, plan: LaunchPlan, form: Form, engine: str
    ) -> QuickLook | None:
        """Return what sees by native code whether anything can be wrong with a launch."""
        if sanitizing is None or engine != "jit":
            return None
        if not needs_groups(sanitizing.watched, sanitizing.wanted):
            return None
        if len(plan.parts) > 1 or not can_suspect(self._linked, self._reach):
            return None
        apart = sanitizing.is_apart(plan)
        wanted = dataclasses.replace(sanitizing.wanted, is_quick=True, is_apart=apart)
        watched = self._watched_kernel(wanted)
        looks = dataclasses.replace(sanitizing, watched=watched, wanted=wanted)
        looks.prepare(plan)
        written = written_memory(self._linked, self._reach) if apart else None
        pool = self._pool(form.engine or make_engine(engine), wanted)
        return QuickLook(pool, looks, written, is_painted(self._linked))

    def _wanted(self, options: LaunchOptions, undefined: Sequence[Uninitialised]) -> Wanted:
        """Return which sanitizers are to watch a launch, and what they have to look at."""
        names = tuple(options.sanitize or ())
        seen = any(getattr(item, "sees_prefetches", False) for item in options.observers)
        prefetches = seen and has_prefetches(self._linked)
        if not names:
            return Wanted(prefetches=prefetches)
        layout, has_metadata = self._payload, self._kernel.metadata is not None
        private = layout.private_bytes if isinstance(layout, PayloadLayout) else 0
        return Wanted(names, bool(undefined or private), not has_metadata, prefetches)

    def _planned(self, form: Form, wanted: Wanted) -> Callable[[Sequence[object]], LaunchPlan]:
        """Return what prepares launches; variables have other places where shadows stand."""
        if "uninit" not in wanted.names:
            return form.prepare
        layout = self._layouts.get(wanted)
        if layout is None:
            layout = self._layouts[wanted] = self._layout(self._watched_kernel(wanted))
        return self._preparation(form.options, layout)

    def _fastest(self, plan: LaunchPlan, wanted: Wanted) -> tuple[str, ExecutablePool]:
        """Return the engine of a launch that names none, and the kernel as it prepared it.

        What the JIT does not run, the interpreter does.
        """
        name = fastest_engine(plan, self._weight)
        if name == "jit" and not self._jit_refuses:
            try:
                engine = make_engine(name)
            except UnsupportedError:  # A signal's handler has interrupted what loads it.
                return self._interpreted(wanted)
            try:
                return name, self._pool(engine, wanted)
            except UnsupportedError:
                self._jit_refuses = True
        return self._interpreted(wanted)

    def _interpreted(self, wanted: Wanted) -> tuple[str, ExecutablePool]:
        return "interpreter", self._pool(make_engine("interpreter"), wanted)

    def _pool(self, engine: Engine, wanted: Wanted, *, taint: bool = False) -> ExecutablePool:
        """Return the kernel as an engine prepared it, once for all launches.

        Args:
            engine: the engine.
            wanted: the sanitizers that watch it.
            taint: whether the engine follows inexact values.
        """
        wanted = wanted.on(engine.name)
        with self._lock.lock:
            key = engine.name, taint, wanted
            executables = self._executables.get(key)
            if executables is None:
                executables = ExecutablePool(engine.prepare(self._watched_kernel(wanted)))
                self._executables[key] = executables
            return executables

    def info(self) -> dict[str, Any]:
        """Return the facts about the kernel in the form that `visim info --json` prints."""
        unit, metadata = self._kernel.unit, self._kernel.metadata
        slm = bare.slm_bytes(unit) if metadata is None else metadata.execution_env.slm_size
        required = metadata and metadata_parameters.required_local_size(metadata)
        return {
            "name": self.name,
            "simd_size": self.simd_size,
            "args": [
                {"name": a.name, "kind": a.kind, "size": a.size, "type_name": a.type_name}
                for a in self.args
            ],
            "slm_size": slm,
            "has_metadata": metadata is not None,
            "required_local_size": required,
            "barriers": facts.barriers(unit),
            "abi": None if metadata is None else facts.abi(metadata),
            **facts.declared(unit),
            **facts.body(unit, self._contents.platform),
        }

    def ir(self, *, after: str | None = None) -> str:
        """Return the JIT's representation of the kernel and of what it calls, MIR, as text.

        Args:
            after: the pass behind which it is shown, `"lift"` for none; None: the last one.

        Raises:
            ArgumentError: there is no such pass.
            UnsupportedError: MIR does not say what the kernel does; the message tells what.
        """
        from visim.engine.jit.lift.program import program_text

        return program_text(self._linked, after)

    def debug_facts(self) -> DebugFacts:
        """Return what a debugger has to know beside what it sees in a launch.

        Raises:
            UnsupportedError: the kernel needs something that visim cannot give it.
        """
        metadata, layout = self._kernel.metadata, self._payload
        order = (
            None if metadata is None else metadata.execution_env.work_group_walk_order_dimensions
        )
        contents = self._contents
        return DebugFacts(order, start_registers(layout), contents.raw, contents.texts)

    def _watched_kernel(self, wanted: Wanted) -> LinkedKernel:
        """Return the kernel as the sanitizers watch it that are wanted."""
        found = self._watched.get(wanted)
        if found is None:
            found = self._watched[wanted] = watched_kernel(self._linked, wanted, self._reach)
        return found

    @RenewedProperty
    def _linked(self) -> LinkedKernel:
        return self._contents.link(self._kernel, self._platform())

    @RenewedProperty
    def _reach(self) -> Reach:
        contents = self._contents
        return reach_of(self._payload, self._linked, contents.raw, contents.texts)

    @RenewedProperty
    def _pointees(self) -> Pointees:
        return Pointees(self.args)

    @RenewedProperty
    def _unwritten_notes(self) -> tuple[str, ...]:
        return unwritten_notes(self._linked)

    @RenewedProperty
    def _units(self) -> tuple[Unit, ...]:
        return tuple(linked.unit for linked in self._linked.units)

    @RenewedProperty
    def _weight(self) -> Weight:
        return weight_of(self._linked)

    def _platform(self) -> Platform:
        if self._contents.platform is None:
            known = ", ".join(platform.name for platform in PLATFORMS)
            raise InputError(
                f"{self._contents.name} does not say which platform it is for",
                code="unknown-platform",
                help=f"name one (platform=..., --platform): {known}",
            )
        return self._contents.platform

    @RenewedProperty
    def _payload(self) -> PayloadLayout | bare.BareLayout:
        if self._kernel.metadata is not None:
            abi.check_supported(self._kernel.metadata)
            check_images_are_read(self._kernel.metadata, self._linked)
        return self._layout(self._linked)

    def _layout(self, linked: LinkedKernel) -> PayloadLayout | bare.BareLayout:
        if self._kernel.metadata is None:
            return bare.BareLayout(linked)
        return PayloadLayout(self._kernel.metadata, linked)

    @RenewedProperty
    def _forms(self) -> Forms:
        return Forms(self._form)

    def _form(self, options: LaunchOptions) -> Form:
        """Return what launches with some options have in common.

        Raises:
            ArgumentError: an option or a size is wrong.
            UnsupportedError: the launch needs what this build of visim does not have.
        """
        chosen = options.check()
        name = chosen.engine
        if name is None and chosen.tracks_taint:
            name = "interpreter"
        named = None if name is None else make_engine(name, taint=chosen.tracks_taint)
        return Form(chosen, chosen.run_options, named, self._preparation(chosen, self._payload))

    def _preparation(
        self, options: LaunchOptions, layout: PayloadLayout | bare.BareLayout
    ) -> Callable[[Sequence[object]], LaunchPlan]:
        """Return what prepares a launch with some options, given its arguments."""
        device = self._linked.platform
        tables = Tables(options.surfaces or {}, options.samplers or {})
        if isinstance(layout, bare.BareLayout):
            groups = geometry.bare_geometry(options, device)
            bounds = options.surface_bounds(Bounds.HARDWARE)
            return lambda given: bare.prepare(layout, given, groups, tables, bounds)
        required = metadata_parameters.required_local_size(layout.kernel)
        uneven = metadata_parameters.allows_uneven_groups(self._contents.build_options)
        extent = geometry.nd_range(options, required, uneven=uneven)
        parameters, segments = self.args, self._contents.segments
        bounds = options.surface_bounds(Bounds.FAULT)
        return lambda given: abi.prepare(
            layout, parameters, given, extent, tables, segments, bounds
        )


def _name_keywords(method: Any) -> None:
    """Give a method the signature that editors and `help` complete keywords from."""
    signature = inspect.signature(method)
    named = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    defaults = {one.name: one.default for one in dataclasses.fields(LaunchOptions)}
    named += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name])
        for name in LaunchKeywords.__annotations__
    ]
    method.__signature__ = signature.replace(parameters=named)


for _method in (Kernel.launch, Kernel.bind, Kernel.__call__):
    _name_keywords(_method)


def _kernel_at(contents: Contents, place: int) -> Kernel:
    return Kernel(contents, contents.kernels[place])
